"""Django: its own applications' migrations, a model's life, the ORM."""

import sys
import tempfile
from datetime import time, timedelta
from decimal import Decimal
from pathlib import Path

import django
from django.conf import settings
from trial import DATABASE, HOST, PORT, USER, check, run, tried

folder = Path(tempfile.mkdtemp())
sys.path.insert(0, str(folder))
(folder / "shop").mkdir()
(folder / "shop" / "__init__.py").write_text("")
MODELS = """
from django.contrib.postgres.fields import ArrayField
from django.db import models
class Shop(models.Model):
    name = models.CharField(max_length=40, unique=True)
    opened = models.DateTimeField(auto_now_add=True)
class Ware(models.Model):
    shop = models.ForeignKey(Shop, on_delete=models.CASCADE)
    name = models.CharField(max_length=40, db_index=True)
    stock = models.PositiveIntegerField(default=0)
    is_sold = models.BooleanField(default=False)
    facts = models.JSONField(default=dict)
    tags = ArrayField(models.CharField(max_length=20), default=list)
    sizes = ArrayField(models.IntegerField(), null=True)
    price = models.DecimalField(max_digits=8, decimal_places=2, default=0)
    lasts = models.DurationField(null=True)
    seal = models.BinaryField(default=b"")
    opens = models.TimeField(null=True)
{more}
"""
(folder / "shop" / "models.py").write_text(MODELS.format(more=""))
settings.configure(
    INSTALLED_APPS=[f"django.contrib.{name}" for name in ("contenttypes", "auth", "sessions", "postgres")] + ["shop"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql", "NAME": DATABASE, "USER": USER, "HOST": HOST, "PORT": PORT,
            "OPTIONS": {"options": "-c schemalab.autocommit_before_ddl=on"},
        }
    },
    USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)  # fmt: skip
django.setup()

from django.contrib.postgres.aggregates import ArrayAgg  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connection, models, transaction  # noqa: E402
from shop.models import Shop, Ware  # noqa: E402


@tried("migrate: contenttypes, auth, sessions")
def migrate() -> None:
    call_command("migrate", "auth", verbosity=0)
    call_command("migrate", "sessions", verbosity=0)


@tried("makemigrations and migrate of an application of one's own")
def own() -> None:
    call_command("makemigrations", "shop", verbosity=0)
    call_command("migrate", "shop", verbosity=0)


@tried("the ORM: objects, relations, aggregates, F, annotations, bulk_create")
def orm() -> None:
    shop = Shop.objects.create(name="one")
    Ware.objects.bulk_create([Ware(shop=shop, name=f"w{n}", stock=n) for n in range(100)])
    Ware.objects.filter(stock__gt=50).update(stock=models.F("stock") + 1)
    check(Ware.objects.aggregate(total=models.Sum("stock"))["total"], sum(range(100)) + 49)
    check(Shop.objects.annotate(n=models.Count("ware")).get().n, 100)
    check(Ware.objects.select_related("shop").filter(name__icontains="W9").count(), 11)
    check(Shop.objects.get_or_create(name="one")[1], False)


@tried("atomic, nested, with an error inside")
def atomic() -> None:
    with transaction.atomic():
        Shop.objects.create(name="two")
        try:
            with transaction.atomic():
                Shop.objects.create(name="two")
        except IntegrityError:
            pass
    check(Shop.objects.filter(name="two").count(), 1)


@tried("iterator: a cursor of the server")
def iterator() -> None:
    check(len(list(Ware.objects.order_by("id").iterator(chunk_size=10))), 100)


@tried("JSONField: kept, found by a key, by what it contains")
def documents() -> None:
    facts = {"weight": 7, "sizes": ["s", "m"], "maker": {"name": "wörd"}}
    Ware.objects.filter(name="w1").update(facts=facts)
    check(Ware.objects.get(name="w1").facts, facts)
    for found in ({"facts__maker__name": "wörd"}, {"facts__weight__gt": 6}, {"facts__contains": {"sizes": ["m"]}},
                  {"facts__has_key": "maker"}):  # fmt: skip
        check(list(Ware.objects.filter(**found).values_list("name", flat=True)), ["w1"])


@tried("ArrayField: kept, contains, contained_by, overlap, len, an element, ArrayAgg; Decimal, Duration, Binary, Time")
def arrays() -> None:
    values = {
        "tags": ["a", 'b"c', "d,e"],
        "sizes": [1, None, 3],
        "price": Decimal("1.50"),
        "lasts": timedelta(hours=26),
    }
    values |= {"opens": time(4, 5)}
    Ware.objects.filter(name="w2").update(seal=b"\x00\xff", **values)
    ware = Ware.objects.get(name="w2")
    check({name: getattr(ware, name) for name in values}, values)
    check(bytes(ware.seal), b"\x00\xff")
    for found in ({"tags__contains": ["a"]}, {"sizes__overlap": [3, 9]}, {"tags__len": 3}, {"tags__0": "a"},
                  {"tags__contained_by": ["a", 'b"c', "d,e", "z"], "sizes__isnull": False}):  # fmt: skip
        check(list(Ware.objects.filter(**found).values_list("name", flat=True)), ["w2"])
    check(Ware.objects.filter(name__in=["w1", "w3"]).aggregate(n=ArrayAgg("stock", order_by="stock"))["n"], [1, 3])


@tried("select_for_update")
def for_update() -> None:
    with transaction.atomic():
        check(Ware.objects.select_for_update().filter(name="w1").count(), 1)


@tried("users of django.contrib.auth")
def users() -> None:
    from django.contrib.auth.models import User

    User.objects.filter(username="ann").delete()
    User.objects.create_user("ann", "ann@example.org", "secret")
    check(User.objects.get(username="ann").check_password("secret"), True)


@tried("a second migration: a column with a default, an index, a longer text")
def second() -> None:
    migration = folder / "shop" / "migrations" / "0002_more.py"
    migration.write_text("""
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [
        migrations.AddField("ware", "colour", models.CharField(max_length=10, default="red")),
        migrations.AddIndex("ware", models.Index(fields=["shop", "stock"], name="shop_stock")),
        migrations.AlterField("shop", "name", models.CharField(max_length=80, unique=True)),
        migrations.AddField("shop", "aliases", ArrayField(models.TextField(), default=list)),
        migrations.AlterField("ware", "tags", ArrayField(models.CharField(max_length=40), default=list)),
    ]
""")
    call_command("migrate", "shop", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT colour FROM shop_ware")
        check(cursor.fetchall(), [("red",)])


@tried("inspectdb")
def inspectdb() -> None:
    import io

    out = io.StringIO()
    call_command("inspectdb", "shop_ware", stdout=out)
    check("models.ForeignKey" in out.getvalue() or "ShopShop" in out.getvalue(), True)


@tried("flush")
def flush() -> None:
    call_command("flush", interactive=False, verbosity=0)
    check(Ware.objects.count(), 0)


@tried("migrate back to nothing")
def back() -> None:
    call_command("migrate", "shop", "zero", verbosity=0)


run("Django", django.__version__)
