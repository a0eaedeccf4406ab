"""Why does a pod go where it goes, or nowhere, and what would change that?"""
