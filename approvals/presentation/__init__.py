"""What a reviewer's pages show, as plain frozen values.

Nothing here knows rows, requests or routes: a view reads the database, fills these
values (addresses included, as ready strings) and hands them to a template. So every
page can be drawn, and tested, without either.

Conventions: times are aware datetimes; `now` is the database's, read once a page;
texts from agents, tools and strangers stay exactly as stored, and only the template
filter `visible` may put them on a page.
"""
