-- The quality-assurance log (D3.15): every status change of a published record, and every publication.
-- Written by this trigger function only.

create or replace function private.qs_after_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  if tg_op = 'INSERT' then
    insert into portal.qs (sichtbeobachtung_id, nutzer_id, art, datum_beobachtung, status, experte_id)
    select n.id, n.nutzer_id, n.art, n.datum, n.status, case when n.status in ('freigegeben', 'abgelehnt') then n.experte_id end
    from new_row n
    where n.bereich = 'oeffentlich'
    order by n.id;
  else
    insert into portal.qs (sichtbeobachtung_id, nutzer_id, art, datum_beobachtung, status, experte_id, gruende, lauf)
    select n.id, n.nutzer_id, n.art, n.datum, n.status, case when n.status in ('freigegeben', 'abgelehnt') then n.experte_id end,
      (select nullif(p.codes, '{}') from portal.pruefgrund p where p.sichtbeobachtung_id = n.id and o.status = 'pruefung'),
      nullif(current_setting('portal.lauf', true), '')::integer
    from new_row n
    join old_row o using (id)
    where n.bereich = 'oeffentlich' and (o.bereich = 'privat' or n.status <> o.status)
    order by n.id;
  end if;
  return null;
end
$$;

-- Entries of the QS log before one, newest first. Walked by what narrows it most: the recorder, days, the status.
--   parameters as of api.list_qs
create or replace function private.list_qs_id(
  datum_von date, datum_bis date, uid bigint, status portal.status, before_id bigint, row_limit integer)
  returns bigint[]
  language plpgsql
  stable
as $$
declare
  v_von timestamptz := coalesce(datum_von::timestamp at time zone 'Europe/Berlin', '-infinity');
  v_bis timestamptz := coalesce((datum_bis + 1)::timestamp at time zone 'Europe/Berlin', 'infinity');
  v_before_id bigint := coalesce(before_id, 9223372036854775807);
  v_before timestamptz;
begin
  if uid is not null then
    return array(
      select q.id
      from portal.qs q
      where (q.nutzer_id, q.id) >= (list_qs_id.uid, 0) and (q.nutzer_id, q.id) < (list_qs_id.uid, v_before_id)
        -- `case`, so that the index on the time is not taken for one as narrow.
        and case when q.zeitpunkt >= v_von then q.zeitpunkt < v_bis end
        and (list_qs_id.status is null or q.status = list_qs_id.status)
      order by q.nutzer_id desc, q.id desc
      limit row_limit);
  elsif datum_von is not null or datum_bis is not null then
    -- One bound from above, as in api.list_protokoll.
    v_before := least(v_bis, (select q.zeitpunkt from portal.qs q where q.id <= before_id order by q.id desc limit 1));
    return array(
      select q.id
      from portal.qs q
      where q.zeitpunkt >= v_von and (q.zeitpunkt, q.id) < (v_before, case when v_before < v_bis then before_id else 0 end)
        and (list_qs_id.status is null or q.status = list_qs_id.status)
      order by q.zeitpunkt desc, q.id desc
      limit row_limit);
  elsif list_qs_id.status is not null then
    -- As rows, here and above: with `=` the planner takes the primary key and walks all.
    return array(
      select q.id
      from portal.qs q
      where (q.status, q.id) >= (list_qs_id.status, 0) and (q.status, q.id) < (list_qs_id.status, v_before_id)
      order by q.status desc, q.id desc
      limit row_limit);
  else
    return array(select q.id from portal.qs q where q.id < v_before_id order by q.id desc limit row_limit);
  end if;
end
$$;

-- One page of the QS log, newest first, for experts and administrators: entries of records that they are in charge of. A record that was
-- deleted belongs to no tenant any more.
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
declare
  v_zustaendig portal.zustaendigkeit := private.get_zustaendigkeit(reader, entscheiden => false);
  v_step constant integer := 1000;
  -- Entries that a call looks at: a page may have fewer than asked for, and a further one.
  v_most constant integer := 50000;
  v_looked integer := 0;
  v_found bigint[];
  v_id bigint[];
  v_weiter bigint;
begin
  if not v_zustaendig.gilt then
    raise exception 'experts and administrators only' using errcode = 'NRCHT';
  end if;
  if num_nonnulls(v_zustaendig.mandanten, v_zustaendig.gids) = 0 then
    v_id := private.list_qs_id(datum_von, datum_bis, uid, status_aenderung::portal.status, before_id, row_limit + 1);
  else
    loop
      v_found := private.list_qs_id(datum_von, datum_bis, uid, status_aenderung::portal.status, before_id, v_step);
      v_id := v_id || array(
        select o.id
        from unnest(v_found) with ordinality o (id, position)
        join portal.qs q on q.id = o.id
        where private.is_zustaendig(v_zustaendig, q.sichtbeobachtung_id, (select a.gid from portal.art a where a.id = q.art))
        order by o.position);
      v_looked := v_looked + v_step;
      exit when cardinality(v_found) < v_step or cardinality(v_id) > row_limit;
      before_id := v_found[v_step];
      if v_looked >= v_most then
        v_weiter := before_id;
        exit;
      end if;
    end loop;
    v_id := v_id[:row_limit + 1];
  end if;
  return query
  select l.result, coalesce(l.last_id, v_weiter)
  from private.to_page(v_id, array(
    select row_to_json(r)::text
    from unnest(v_id) with ordinality o (id, position)
    join portal.qs q on q.id = o.id,
      lateral (
        select q.sichtbeobachtung_id as id, q.nutzer_id as uid,
          to_char(q.zeitpunkt at time zone 'Europe/Berlin', 'DD.MM.YYYY') as datum,
          to_char(q.zeitpunkt at time zone 'Europe/Berlin', 'HH24:MI:SS') as uhrzeit,
          private.to_status_text(q.status) as status_aenderung, q.art as aid,
          to_char(q.datum_beobachtung, 'DD.MM.YYYY') as datum_beobachtung, q.experte_id as experte_uid) r
    order by o.position), row_limit) l;
end
$$;
comment on function api.list_qs(bigint, date, date, bigint, portal.kurztext, bigint, integer) is
  'QS log, newest first, for experts and administrators: one page as JSON text; last_id is the entry to go on after';
