"""What if requests were what pods really use?"""

POSITION = 105
