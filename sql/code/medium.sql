-- Stored files: who may see them, and which ones nobody names any more.

-- The names of a record's files.
create or replace function private.list_medium(sichtbeobachtung portal.sichtbeobachtung)
  returns text[]
  language sql
  immutable
as $$
  select array_remove(
    array[sichtbeobachtung.foto, sichtbeobachtung.foto_2, sichtbeobachtung.foto_3, sichtbeobachtung.biotopfoto, sichtbeobachtung.audio],
    null)
$$;

-- The names that a record had and has no longer.
--   before, after  the record; after null: it is deleted
create or replace function private.list_medium_removed(before portal.sichtbeobachtung, after portal.sichtbeobachtung)
  returns text[]
  language plpgsql
  immutable
as $$
begin
  return array(
    select b.name from pg_catalog.unnest(private.list_medium(before)) b (name)
    where after.id is null or b.name <> all (private.list_medium(after)));
end
$$;

-- Remembers files to be removed from the storage, in the transaction that lets go of them: also when it is made by SQL, and
-- when the service is killed right after it. For each row, because the condition on the trigger costs nothing for the
-- rows of bulk changes, which have no such files.
create or replace function private.sichtbeobachtung_medium_after_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into portal.medium_entfernt (name)
  select u.name
  from pg_catalog.unnest(private.list_medium_removed(old, case when tg_op = 'UPDATE' then new end)) u (name)
  on conflict do nothing;
  return null;
end
$$;

-- The record that names a stored file, null when there is none. One probe of a small partial index for each kind.
create or replace function private.get_sichtbeobachtung_of_medium(name text)
  returns bigint
  language sql
  stable
as $$
  select s.id from portal.sichtbeobachtung s where s.foto = name
  union all select s.id from portal.sichtbeobachtung s where s.foto_2 = name
  union all select s.id from portal.sichtbeobachtung s where s.foto_3 = name
  union all select s.id from portal.sichtbeobachtung s where s.biotopfoto = name
  union all select s.id from portal.sichtbeobachtung s where s.audio = name
  limit 1
$$;

-- Whether everyone may see a stored file.
--   tenant   the addressed tenant: it may keep back the biotope photo of a protected record (D6.5)
--   reader   for whom its address was signed, null for a plain address (D3.20)
-- returns    true: everyone; false: this reader
-- errors     NFUND unknown, or not for this reader (any more)
create or replace function api.get_medium(tenant integer, reader bigint, name portal.kurztext)
  returns boolean
  language plpgsql
  stable
as $$
declare
  v_record portal.sichtbeobachtung;
  v_sensibel_here boolean;
  v_verborgen boolean := false;
begin
  select s.* into v_record
  from portal.sichtbeobachtung s
  where s.id = private.get_sichtbeobachtung_of_medium(get_medium.name);
  if not found then
    raise exception 'no such file' using errcode = 'NFUND';
  end if;
  if get_medium.name <> all (private.list_medium(private.to_verborgen(v_record))) and private.is_verborgen(tenant) then
    select am.sensibel into v_sensibel_here
    from portal.art_mandant am
    where am.mandant_id = tenant and am.art = v_record.art;
    v_verborgen := private.is_masked(v_record.schutz, v_sensibel_here, v_record.nutzer_id, null, false);
  end if;
  if private.is_shown_to_all(v_record.bereich, v_record.status) and not v_verborgen then
    return true;
  elsif exists (select from portal.nutzer u where u.id = reader and u.status = 1)
    and private.is_visible(v_record.bereich, v_record.status, v_record.nutzer_id, reader)
    and not (v_verborgen and private.is_masked(
      v_record.schutz, v_sensibel_here, v_record.nutzer_id, reader,
      private.is_zustaendig(private.get_zustaendigkeit(reader, entscheiden => false), v_record.id, v_record.gid))) then
    return false;
  end if;
  raise exception 'no such file' using errcode = 'NFUND';
end
$$;
comment on function api.get_medium(integer, bigint, portal.kurztext) is
  'Whether everyone (true) or this reader only (false) may see a stored file at the addressed tenant; fails for all others';

-- Files to be removed from the storage; none while a backup copies them. One that a record names again is none of them.
create or replace function api.list_medium_entfernt(row_limit integer)
  returns text[]
  language sql
  stable
as $$
  select case when api.is_medium_gesperrt() then '{}' else array(
    select e.name from portal.medium_entfernt e
    where private.get_sichtbeobachtung_of_medium(e.name) is null
    order by e.zeitpunkt
    limit row_limit) end
$$;
comment on function api.list_medium_entfernt(integer) is 'Names of files that no record has any more and that are still stored';

-- Forgets files that were removed from the storage, and those that a record names again.
create or replace function api.delete_medium_entfernt(names portal.kurztexte)
  returns void
  language sql
  volatile
as $$
  delete from portal.medium_entfernt e
  where e.name = any (names) or private.get_sichtbeobachtung_of_medium(e.name) is not null
$$;
comment on function api.delete_medium_entfernt(portal.kurztexte) is 'Forgets files that were removed from the storage';

-- Of some stored files, those that no record names: left behind by uploads that did not come to their end. An import that was
-- broken off has a week to be begun again. None while a backup copies them.
create or replace function api.list_medium_unbekannt(names portal.kurztexte)
  returns text[]
  language sql
  stable
as $$
  select case when api.is_medium_gesperrt() then '{}' else array(
    select u.name from unnest(names) u (name)
    where private.get_sichtbeobachtung_of_medium(u.name) is null
      and not exists (
        select from portal.medium_import m where m.name = u.name and m.angelegt > now() - interval '7 days')) end
$$;
comment on function api.list_medium_unbekannt(portal.kurztexte) is 'Of some stored files, those that no record names';

-- Files of an import that are stored already, under the SHA-256 of the file as it was.
--   nummer  which of the records that name the same file
create or replace function api.get_medium_import(hash bytea, nummer integer, audio boolean)
  returns text
  language sql
  stable
as $$
  select m.name
  from portal.medium_import m
  where m.hash = get_medium_import.hash and m.nummer = get_medium_import.nummer and m.audio = get_medium_import.audio
    and m.angelegt > now() - interval '6 days'
    and private.get_sichtbeobachtung_of_medium(m.name) is null
$$;
comment on function api.get_medium_import(bytea, integer, boolean) is
  'Name under which a file of an import is stored already and no record has it; null when there is none';

create or replace function api.set_medium_import(hash bytea, nummer integer, audio boolean, name portal.kurztext)
  returns void
  language sql
  volatile
as $$
  insert into portal.medium_import (hash, nummer, audio, name)
  values (set_medium_import.hash, set_medium_import.nummer, set_medium_import.audio, set_medium_import.name)
  on conflict on constraint medium_import_hash_nummer_audio_pk do update set name = excluded.name, angelegt = now()
$$;
comment on function api.set_medium_import(bytea, integer, boolean, portal.kurztext) is
  'Remembers under which name a file of an import was stored, for an import that is begun again';

-- Forgets all files of imports that were broken off: a backup has none of them.
create or replace function api.delete_medium_import()
  returns void
  language sql
  volatile
as $$
  delete from portal.medium_import
$$;
comment on function api.delete_medium_import() is 'Forgets all files of imports that were broken off, for a database that was made of a backup';

-- Forgets files of imports that were not begun again within a week; the sweep of the storage removes them.
create or replace function api.sweep_medium_import()
  returns void
  language sql
  volatile
as $$
  delete from portal.medium_import m where m.angelegt < now() - interval '7 days'
$$;
comment on function api.sweep_medium_import() is 'Forgets files of imports that were broken off a week ago';
