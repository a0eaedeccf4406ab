"""The plugins, a file each, named as upstream names them."""
