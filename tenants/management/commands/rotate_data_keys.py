"""`manage.py rotate_data_keys`: wrap every tenant's key under the first master key."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from audit.management.progress import shown_progress
from audit.queries import tenants_with_chain
from kernel.problems import Problem
from kernel.sealing import Unreadable
from tenants.master_keys import add_master_key, keep_first_key, master_keys
from tenants.services.data_keys import rewrap_data_key
from tenants.services.second_factors import reseal_factor, sealed_factors


class Command(BaseCommand):
    help = (
        "Wrap the data key of every tenant under the first key in KEYTURN_DATA_KEYS."
        " What they seal is not written again; people's second factors are."
        " It may be repeated."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--new",
            action="store_true",
            help="put a new key in front of the file first",
        )
        parser.add_argument(
            "--forget",
            action="store_true",
            help="afterwards take the former keys out of the file",
        )

    def handle(self, *, new: bool, forget: bool, **_: Any) -> None:
        path = Path(settings.DATA_KEYS)
        if new:
            master_keys()
            add_master_key(path)
        count = self._rewrap_all()
        self._reseal_all()
        if forget:
            count += self._rewrap_all()  # of tenants that were founded meanwhile
            self._reseal_all()
            keep_first_key(path)
        (first, *others) = master_keys()
        self.stdout.write(f"{count} keys wrapped anew under {first.hex()}.")
        if others:
            self.stdout.write(f"Not needed any more: {len(others)} keys in {path}.")

    def _rewrap_all(self) -> int:
        tenants, count = list(tenants_with_chain()), 0
        with shown_progress("keys", hidden=False) as progress:
            for done, tenant_id in enumerate(tenants, start=1):
                try:
                    count += rewrap_data_key(tenant_id)
                except (Unreadable, Problem) as error:  # then nothing must be forgotten
                    raise CommandError(f"Tenant {tenant_id}: {error}") from error
                progress(done, len(tenants))
        return count

    def _reseal_all(self) -> None:
        """Second factors are people's, not a tenant's: they are sealed again one by one."""
        for factor_id in sealed_factors():
            try:
                reseal_factor(factor_id)
            except (Unreadable, Problem) as error:
                raise CommandError(f"Second factor {factor_id}: {error}") from error
