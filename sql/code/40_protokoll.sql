-- The change log (D3.14). Written by trigger functions, and by what they call, only; it carries no content.

create or replace function private.protokoll_after_insert()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into portal.protokoll (audit, sichtbeobachtung_id)
  select 'CREATE', n.id from new_row n order by n.id;
  return null;
end
$$;

create or replace function private.protokoll_after_delete()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into portal.protokoll (audit, sichtbeobachtung_id)
  select 'DELETE', o.id from old_row o order by o.id;
  return null;
end
$$;

-- One entry per updated record. The service itself re-derives columns when the catalogue or a boundary changes; that
-- counts only when it moves the place that somebody is shown, which is what a change of `schutz` says.
create or replace function private.protokoll_after_update()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into portal.protokoll (audit, sichtbeobachtung_id)
  select 'UPDATE', n.id
  from new_row n
  join old_row o using (id)
  where n.schutz <> o.schutz
    or (n.sensible_art, n.gid) = (o.sensible_art, o.gid)
    or private.to_content(n) <> private.to_content(o)
  order by n.id;
  return null;
end
$$;

-- What a person wrote or decided about a record, without what the service derives from it.
create or replace function private.to_content(sichtbeobachtung portal.sichtbeobachtung)
  returns jsonb
  language sql
  stable
as $$
  select pg_catalog.to_jsonb(sichtbeobachtung) - '{gid,jahr,cell_x,cell_y,raster_point,shown_point,sensible_art,schutz}'::text[]
$$;

-- One page of the change log, newest first.
--   datum_von, datum_bis  day of the change in Europe/Berlin, inclusive; null = any
--   before_id             only older entries (the cursor)
create or replace function api.list_protokoll(datum_von date, datum_bis date, before_id bigint, row_limit integer)
  returns table (result text, last_id bigint)
  language plpgsql
  stable
as $$
begin
  return query
  with page as (
    select p.id, row_to_json(r)::text as json
    from portal.protokoll p,
      lateral (
        select p.audit, p.sichtbeobachtung_id as id, to_char(p.zeitpunkt at time zone 'Europe/Berlin', 'DD.MM.YYYY') as datum,
          to_char(p.zeitpunkt at time zone 'Europe/Berlin', 'HH24:MI:SS') as uhrzeit) r
    where (datum_von is null or p.zeitpunkt >= datum_von::timestamp at time zone 'Europe/Berlin')
      and (datum_bis is null or p.zeitpunkt < (datum_bis + 1)::timestamp at time zone 'Europe/Berlin')
      and (before_id is null or p.id < before_id)
    order by p.id desc
    limit row_limit + 1
  )
  select l.result, l.last_id
  from private.to_page(
    array(select p.id from page p order by p.id desc), array(select p.json from page p order by p.id desc), row_limit) l;
end
$$;
comment on function api.list_protokoll(date, date, bigint, integer) is
  'Change log, newest first: one page as JSON text; last_id is the entry to go on after, null on the last page';
