-- Photos and sound files that may be passed on (O5.4).

-- Who is to be named where files of an account are passed on: nobody, where it does not want its name shown.
create or replace function private.to_urheber(nutzer portal.nutzer)
  returns text
  language sql
  stable
as $$
  select case when nutzer.anonymisiert = 0 then nullif(pg_catalog.concat_ws(' ', nutzer.vorname, nutzer.nachname), '') end
$$;

-- The files of records that may be passed on: with a licence, and shown at their true place.
--   id  records
create or replace function private.list_medium_gezeigt(id bigint[])
  returns table (sichtbeobachtung_id bigint, nummer smallint, name text, lizenz text, urheber text)
  language sql
  stable
as $$
  select s.id, f.nummer::smallint, f.name, l.lizenz, private.to_urheber(u)
  from pg_catalog.unnest(list_medium_gezeigt.id) i (id)
  join portal.sichtbeobachtung_gezeigt g on g.id = i.id and g.unschaerfe_m = 0
  join portal.sichtbeobachtung s on s.id = i.id
  join portal.nutzer u on u.id = s.nutzer_id
  cross join lateral (select nullif(coalesce(s.medien_lizenz, u.medien_lizenz), '') as lizenz) l
  cross join lateral pg_catalog.unnest(private.list_medium(s)) with ordinality f (name, nummer)
  where l.lizenz is not null
$$;

-- Brings the files that may be passed on in line with records. Where one goes or says something else, files to publish are wrong (O5.2).
--   id  records, also deleted ones
create or replace function private.set_medium_gezeigt(id bigint[])
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_changed bigint[];
begin
  if pg_catalog.cardinality(set_medium_gezeigt.id) = 0 then
    return;
  end if;
  -- Whoever changes the account at the same time goes first or comes after: what it says is not read before it is changed and stored after.
  perform
  from portal.nutzer u
  where u.id in (select s.nutzer_id from portal.sichtbeobachtung s where s.id = any (set_medium_gezeigt.id))
  for share;
  with wanted as materialized (
    select k.* from private.list_medium_gezeigt(set_medium_gezeigt.id) k
  ),
  present as materialized (
    select m.* from portal.medium_gezeigt m where m.sichtbeobachtung_id = any (set_medium_gezeigt.id)
  ),
  removed as (
    delete from portal.medium_gezeigt m
    using present p
    where m.sichtbeobachtung_id = p.sichtbeobachtung_id and m.nummer = p.nummer
      and not exists (select from wanted w where w.sichtbeobachtung_id = p.sichtbeobachtung_id and w.nummer = p.nummer)
  ),
  written as (
    insert into portal.medium_gezeigt as m (sichtbeobachtung_id, nummer, name, lizenz, urheber)
    select w.* from wanted w
    on conflict (sichtbeobachtung_id, nummer) do update
      set name = excluded.name, lizenz = excluded.lizenz, urheber = excluded.urheber
      where (m.name, m.lizenz, m.urheber) is distinct from (excluded.name, excluded.lizenz, excluded.urheber)
  )
  select pg_catalog.array_agg(distinct p.sichtbeobachtung_id) into v_changed
  from present p
  left join wanted w using (sichtbeobachtung_id, nummer)
  where w is distinct from p;
  if v_changed is not null then
    perform private.set_export_ungueltig_of_zelle(pg_catalog.array_agg(g.cell_x), pg_catalog.array_agg(g.cell_y))
    from portal.sichtbeobachtung_gezeigt g
    where g.id = any (v_changed);
  end if;
end
$$;

-- A licence of an account, or the name that goes with it, changes for all its files.
create or replace function private.nutzer_after_update_medium()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform private.set_medium_gezeigt(array(
    select s.id
    from portal.sichtbeobachtung s
    where s.nutzer_id = new.id and private.is_shown_to_all(s.bereich, s.status)
      and coalesce(s.foto, s.foto_2, s.foto_3, s.biotopfoto, s.audio) is not null));
  perform private.count_version(shown => 1, protokoll => 0);
  return null;
end
$$;

-- Under which licence the photos and sound files of an account are passed on where their report says nothing else, and under which name (O5.5).
create or replace function api.get_nutzer_medien(id bigint)
  returns table (medien_lizenz text, urheber text)
  language sql
  stable
  rows 1
as $$
  select u.medien_lizenz, private.to_urheber(u) from portal.nutzer u where u.id = get_nutzer_medien.id
$$;
comment on function api.get_nutzer_medien(bigint) is
  'Licence of the photos and sound files of an account, null for all rights reserved, and the name that goes with them, null for none';

-- Changes that licence by a link to the own data, which stays good.
--   medien_lizenz  null: all rights reserved
-- returns            false when the link is not good any more
create or replace function api.set_nutzer_medien(hash bytea, medien_lizenz portal.kurztext)
  returns boolean
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  update portal.nutzer u set medien_lizenz = set_nutzer_medien.medien_lizenz
  from api.get_nutzer_daten_link(set_nutzer_medien.hash) l
  where u.id = l.nutzer_id;
  return found;
end
$$;
comment on function api.set_nutzer_medien(bytea, portal.kurztext) is
  'Changes the licence of the photos and sound files of the account that a link to the own data belongs to; false when the link is not good any more';
