"""Why does a pod go to its node, or to none?"""

POSITION = 20
