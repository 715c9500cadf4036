"""What a worker does with a resume job. Imported by tasks; knows no Celery."""
