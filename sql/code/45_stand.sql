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

-- returns  text that differs after every committed change, with every release, and after every start or restore of the database:
--          a backup counts from its own time on, and would come to a number again that stood for something else
create or replace function api.get_stand()
  returns text
  language plpgsql
  stable
as $$
begin
  return (select coalesce(sum(t.anzahl), 0) from portal.stand t)
    || '-' || coalesce((select left(i.code_hash, 8) from portal.installation i), '')
    || '-' || left(md5(extract(epoch from pg_postmaster_start_time()) || ' ' || 'portal.stand'::regclass::oid), 8);
end
$$;
comment on function api.get_stand() is 'Version of everything that anonymous readers may see; differs after every committed change';
