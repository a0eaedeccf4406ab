"""Where would these pods go?"""
