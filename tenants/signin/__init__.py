"""How people guard their own sign-in: second factors and devices, outside any tenant."""
