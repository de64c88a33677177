-- The version of everything that anonymous readers may see (D2.21). Cheap to ask for, because it says "unchanged" for most
-- requests of a portal; never derived from a place.

-- Counts a change. A transaction takes the first row that no other open transaction holds, so that nobody waits; whatever
-- order they commit in, the sum grows with each commit. The highest id of the change log would not do: a transaction with a
-- lower one may commit later.
create or replace function private.count_change()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  update portal.stand t
  set anzahl = t.anzahl + 1
  where t.id = (select f.id from portal.stand f order by f.id for update skip locked limit 1);
  if not found then
    insert into portal.stand (id, anzahl) values ((pg_catalog.random() * 9007199254740991)::bigint, 1);
  end if;
  return null;
end
$$;

-- returns  text that differs after every committed change, and with every release
create or replace function api.get_stand()
  returns text
  language sql
  stable
as $$
  select coalesce(sum(t.anzahl), 0) || '-' || left((select i.code_hash from portal.installation i), 8) from portal.stand t
$$;
comment on function api.get_stand() is 'Version of everything that anonymous readers may see; differs after every committed change';
