"""Why does a pod go where it goes, or nowhere?"""

POSITION = 20
