"""What an empty installation asks for, and what an invited person says."""

from typing import Any

from django import forms
from django.contrib.auth import password_validation
from django.utils.text import slugify

from tenants.models import User
from tenants.services import is_setup_code


def _name() -> forms.CharField:
    return forms.CharField(
        label="Your name",
        max_length=200,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )


def _password() -> forms.CharField:
    return forms.CharField(
        label="A password",
        strip=False,
        help_text="Twelve characters or more that you use nowhere else.",
        min_length=12,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )


def _judge_password(form: forms.Form, email: str) -> None:
    data = form.cleaned_data
    person = User(email=email, name=data.get("name", ""))
    try:
        if "password" in data:
            password_validation.validate_password(data["password"], person)
    except forms.ValidationError as error:
        form.add_error("password", error)


class NameForm(forms.Form):
    """What a person is called in the tenant that invited them."""

    name = _name()


class NewcomerForm(NameForm):
    """Name and password of an invited person who never signed in here."""

    password = _password()

    def __init__(self, *args: Any, email: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._email = email

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        _judge_password(self, self._email)
        return data


class FirstRunForm(forms.Form):
    """A tenant and its first person. The tenant's address follows from its name."""

    code = forms.CharField(
        label="Setup code",
        max_length=200,
        help_text="It shows that the installation is yours: KEYTURN_SETUP_CODE, or what"
        " the file keys/setup_code in its data folder says.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "class": "mono"}),
    )
    tenant = forms.CharField(
        label="Name of your organisation",
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )
    name = _name()
    email = forms.EmailField(
        label="Your e-mail address",
        widget=forms.EmailInput(attrs={"autocomplete": "username"}),
    )
    password = _password()

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        _judge_password(self, data.get("email", ""))
        return data

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        if not is_setup_code(code):
            raise forms.ValidationError("That is not the setup code.")
        return code

    def arguments(self) -> dict[str, Any]:
        """What `first_run` takes."""
        data = self.cleaned_data
        return {
            "code": data["code"],
            "slug": slug_of(data["tenant"]),
            "tenant_name": data["tenant"],
            "email": data["email"],
            "name": data["name"],
            "password": data["password"],
        }


def slug_of(name: str) -> str:
    """An address made of a name: `Acme & Sons` becomes `acme-sons`."""
    return slugify(name.replace("_", "-"))[:63].strip("-") or "tenant"
