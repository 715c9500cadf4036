"""Where processes share what they count for a while: limits on guesses."""

from django.db import migrations

CACHE = """
CREATE TABLE tenants_cache (
  key text PRIMARY KEY,
  value text NOT NULL,
  expires_at timestamptz
);
CREATE INDEX tenants_cache_over ON tenants_cache (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON tenants_cache TO keyturn_app;
"""


class Migration(migrations.Migration):
    dependencies = [("tenants", "0013_single_sign_on")]

    operations = [migrations.RunSQL(CACHE, "DROP TABLE tenants_cache")]
