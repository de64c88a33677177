-- The quality-assurance log (D3.15): every status change of a published record, and every publication.
-- Written by these trigger functions only.

create or replace function private.qs_after_insert()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into portal.qs (sichtbeobachtung_id, nutzer_id, art, datum_beobachtung, status, experte_id)
  select n.id, n.nutzer_id, n.art, n.datum, n.status, case when n.status in ('freigegeben', 'abgelehnt') then n.experte_id end
  from new_row n
  where n.bereich = 'oeffentlich'
  order by n.id;
  return null;
end
$$;

create or replace function private.qs_after_update()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into portal.qs (sichtbeobachtung_id, nutzer_id, art, datum_beobachtung, status, experte_id)
  select n.id, n.nutzer_id, n.art, n.datum, n.status, case when n.status in ('freigegeben', 'abgelehnt') then n.experte_id end
  from new_row n
  join old_row o using (id)
  where n.bereich = 'oeffentlich' and (o.bereich = 'privat' or n.status <> o.status)
  order by n.id;
  return null;
end
$$;

-- One page of the QS log, newest first, for experts and administrators.
--   datum_von, datum_bis  day of the status change in Europe/Berlin, inclusive
--   uid                   recorder
-- errors                  NRCHT for everyone else
create or replace function api.list_qs(
  reader bigint, datum_von date, datum_bis date, uid bigint, status_aenderung portal.kurztext, before_id bigint,
  row_limit integer)
  returns table (result text, last_id bigint)
  language plpgsql
  stable
as $$
begin
  if not private.is_exempt(reader) then
    raise exception 'experts and administrators only' using errcode = 'NRCHT';
  end if;
  return query
  with page as (
    select q.id, row_to_json(r)::text as json
    from portal.qs q,
      lateral (
        select q.sichtbeobachtung_id as id, q.nutzer_id as uid,
          to_char(q.zeitpunkt at time zone 'Europe/Berlin', 'DD.MM.YYYY') as datum,
          to_char(q.zeitpunkt at time zone 'Europe/Berlin', 'HH24:MI:SS') as uhrzeit,
          private.to_status_text(q.status) as status_aenderung, q.art as aid,
          to_char(q.datum_beobachtung, 'DD.MM.YYYY') as datum_beobachtung, q.experte_id as experte_uid) r
    where (datum_von is null or q.zeitpunkt >= datum_von::timestamp at time zone 'Europe/Berlin')
      and (datum_bis is null or q.zeitpunkt < (datum_bis + 1)::timestamp at time zone 'Europe/Berlin')
      and (list_qs.uid is null or q.nutzer_id = list_qs.uid)
      and (list_qs.status_aenderung is null or q.status = list_qs.status_aenderung::portal.status)
      and (before_id is null or q.id < before_id)
    order by q.id desc
    limit row_limit + 1
  )
  select l.result, l.last_id
  from private.to_page(
    array(select p.id from page p order by p.id desc), array(select p.json from page p order by p.id desc), row_limit) l;
end
$$;
comment on function api.list_qs(bigint, date, date, bigint, portal.kurztext, bigint, integer) is
  'QS log, newest first, for experts and administrators: one page as JSON text; last_id is the entry to go on after';
