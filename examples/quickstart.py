"""From a table to a private synthetic table with a certificate. Writes people.nacre into the current folder."""

import nacre
from nacre.table.simulate import people, people_schema

table = people(20_000)  # made-up people; or a pandas, polars or Arrow table, or the path of a file
release = nacre.fit(table, schema=people_schema(), epsilon=1.0, target="late_payment")
synthetic = release.sample(5_000)  # a pandas table; as_="polars" or as_="pyarrow" for the others
young = release.sample(1_000, where={"age": nacre.Between(18, 30)})
release.save("people.nacre", force=True)
print(nacre.load("people.nacre").certificate)
