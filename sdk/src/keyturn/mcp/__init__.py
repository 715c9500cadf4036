"""Keyturn's MCP server: any MCP client can ask, wait, redeem and report. None decides."""
