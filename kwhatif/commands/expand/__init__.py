"""What pods do manifests become?"""

POSITION = 110
