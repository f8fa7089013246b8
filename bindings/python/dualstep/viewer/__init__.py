"""Looking at environments: a web page (viser), or MuJoCo's own viewer."""
