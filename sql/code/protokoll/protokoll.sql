-- The change log (D3.14). Written by trigger functions, and by what they call, only; it carries no content.

-- One entry for each record. The service itself re-derives columns when the catalogue or a boundary changes; that counts only when it moves
-- the place that somebody is shown, which is what a change of `schutz` says.
create or replace function private.protokoll_after_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  if tg_op = 'INSERT' then
    insert into portal.protokoll (audit, sichtbeobachtung_id)
    select 'CREATE', n.id from new_row n order by n.id;
  elsif tg_op = 'DELETE' then
    insert into portal.protokoll (audit, sichtbeobachtung_id)
    select 'DELETE', o.id from old_row o order by o.id;
  else
    insert into portal.protokoll (audit, sichtbeobachtung_id)
    select 'UPDATE', n.id
    from new_row n
    join old_row o using (id)
    where n.schutz <> o.schutz
      or (n.sensible_art, n.gid) = (o.sensible_art, o.gid)
      or private.to_content(n) <> private.to_content(o)
    order by n.id;
  end if;
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

-- One page of the change log, newest first: by id, or where days are asked for by their times, so that no more is walked than they hold.
--   datum_von, datum_bis  day of the change in Europe/Berlin, inclusive; null = any
--   before_id             only older entries (the cursor)
create or replace function api.list_protokoll(datum_von date, datum_bis date, before_id bigint, row_limit integer)
  returns table (result text, last_id bigint)
  language plpgsql
  stable
as $$
declare
  v_von timestamptz := coalesce(datum_von::timestamp at time zone 'Europe/Berlin', '-infinity');
  v_bis timestamptz := coalesce((datum_bis + 1)::timestamp at time zone 'Europe/Berlin', 'infinity');
  v_before timestamptz;
  v_id bigint[];
begin
  if datum_von is null and datum_bis is null then
    v_id := array(
      select p.id from portal.protokoll p where p.id < coalesce(before_id, 9223372036854775807) order by p.id desc limit row_limit + 1);
  else
    -- One bound: of two from above a walk begins at whichever it takes first.
    v_before := least(v_bis, (select p.zeitpunkt from portal.protokoll p where p.id <= before_id order by p.id desc limit 1));
    v_id := array(
      select p.id
      from portal.protokoll p
      where p.zeitpunkt >= v_von and (p.zeitpunkt, p.id) < (v_before, case when v_before < v_bis then before_id else 0 end)
      order by p.zeitpunkt desc, p.id desc
      limit row_limit + 1);
  end if;
  return query
  select l.result, l.last_id
  from private.to_page(v_id, array(
    select row_to_json(r)::text
    from unnest(v_id) with ordinality o (id, position)
    join portal.protokoll p on p.id = o.id,
      lateral (
        select p.audit, p.sichtbeobachtung_id as id, to_char(p.zeitpunkt at time zone 'Europe/Berlin', 'DD.MM.YYYY') as datum,
          to_char(p.zeitpunkt at time zone 'Europe/Berlin', 'HH24:MI:SS') as uhrzeit) r
    order by o.position), row_limit) l;
end
$$;
comment on function api.list_protokoll(date, date, bigint, integer) is
  'Change log, newest first: one page as JSON text; last_id is the entry to go on after, null on the last page';
