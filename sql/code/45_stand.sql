-- The versions of what anonymous readers may see, and of the change log (D2.21, O1.6). Cheap to ask for, because they say "unchanged"
-- for most requests of a portal; never derived from a place.

-- Counts a change. A transaction takes the first row that no other open transaction holds, so that nobody waits; whatever order they
-- commit in, the sums grow with each commit. A highest number would not do: a transaction with a lower one may commit later.
--   shown      changes of what anonymous readers see
--   protokoll  entries of the change log
create or replace function private.count_stand(shown integer, protokoll integer)
  returns void
  language plpgsql
  volatile
as $$
begin
  update portal.stand t
  set anzahl = t.anzahl + shown, anzahl_protokoll = t.anzahl_protokoll + protokoll
  where t.id = (select f.id from portal.stand f order by f.id for update skip locked limit 1);
  if not found then
    insert into portal.stand (id, anzahl, anzahl_protokoll)
    values ((pg_catalog.random() * 9007199254740991)::bigint, shown, protokoll);
  end if;
end
$$;

-- Of the catalogue: every write counts. Sightings count where private.set_abgleich finds that somebody sees it.
create or replace function private.count_change()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform private.count_stand(shown => 1, protokoll => 0);
  return null;
end
$$;

create or replace function private.protokoll_count_change()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform private.count_stand(shown => 0, protokoll => 1);
  return null;
end
$$;

-- What a version says beside its number: the release, and the start of the database. After a start or a restore, a backup counts from
-- its own time on and would come to a number again that stood for something else.
create or replace function private.get_stand_herkunft()
  returns text
  language plpgsql
  stable
as $$
begin
  return '-' || coalesce((select left(i.code_hash, 8) from portal.installation i), '')
    || '-' || left(md5(extract(epoch from pg_postmaster_start_time()) || ' ' || 'portal.stand'::regclass::oid), 8);
end
$$;

create or replace function api.get_stand_gezeigt()
  returns text
  language plpgsql
  stable
as $$
begin
  return (select coalesce(sum(t.anzahl), 0) from portal.stand t) || private.get_stand_herkunft();
end
$$;
comment on function api.get_stand_gezeigt() is
  'Version of the sightings and the catalogue as anonymous readers may see them; differs after every committed change that one of them sees';

create or replace function api.get_stand_protokoll()
  returns text
  language plpgsql
  stable
as $$
begin
  return (select coalesce(sum(t.anzahl_protokoll), 0) from portal.stand t) || private.get_stand_herkunft();
end
$$;
comment on function api.get_stand_protokoll() is 'Version of the change log; differs after every committed entry';
