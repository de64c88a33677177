-- Reasons of records that wait for their review, kept (O6.2): soon after a record changes, never while somebody waits for their report.

-- Whether a record waits for its review where experts see it.
create or replace function private.is_wartend(bereich portal.bereich, status portal.status)
  returns boolean
  language sql
  immutable
  parallel safe
as $$
  select bereich = 'oeffentlich' and status = 'pruefung'
$$;

-- Whether a record can be judged by a picture.
create or replace function private.has_foto(sichtbeobachtung portal.sichtbeobachtung)
  returns boolean
  language sql
  immutable
  parallel safe
as $$
  select coalesce(sichtbeobachtung.foto, sichtbeobachtung.foto_2, sichtbeobachtung.foto_3) is not null
$$;

create or replace function private.pruefgrund_after_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  if tg_op = 'INSERT' then
    insert into portal.pruefgrund_offen (sichtbeobachtung_id)
    select n.id from new_row n where private.is_wartend(n.bereich, n.status);
  else
    insert into portal.pruefgrund_offen (sichtbeobachtung_id)
    select n.id
    from new_row n
    join old_row o using (id)
    where private.is_wartend(n.bereich, n.status) <> private.is_wartend(o.bereich, o.status)
      or private.is_wartend(n.bereich, n.status)
        and ((n.art, n.gid, n.datum, n.anzahl, n.stadium_id, n.aktivitaet_id, n.schutz, n.nutzer_id, private.has_foto(n))
            is distinct from (o.art, o.gid, o.datum, o.anzahl, o.stadium_id, o.aktivitaet_id, o.schutz, o.nutzer_id, private.has_foto(o))
          or not public.st_orderingequals(n.point, o.point));
    -- The first of two persons released another record than the second one would.
    delete from portal.bestaetigung b
    using new_row n
    join old_row o using (id)
    where b.sichtbeobachtung_id = n.id
      and ((n.bereich, n.art, n.datum, n.anzahl, n.stadium_id, n.aktivitaet_id, n.foto, n.foto_2, n.foto_3, n.biotopfoto, n.audio, n.bemerkung)
          is distinct from (o.bereich, o.art, o.datum, o.anzahl, o.stadium_id, o.aktivitaet_id, o.foto, o.foto_2, o.foto_3, o.biotopfoto, o.audio, o.bemerkung)
        or not public.st_orderingequals(n.point, o.point));
  end if;
  return null;
end
$$;

-- Finds out and keeps why records are odd, of those that wait; of others nothing is kept.
create or replace function private.set_pruefgrund(id bigint[])
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  with wartend as (
    select s.*, private.has_foto(s) as mit_foto
    from portal.sichtbeobachtung s
    where s.id = any (set_pruefgrund.id) and case when s.bereich = 'oeffentlich' then s.status = 'pruefung' end
    order by s.id
    -- One that is just being deleted takes its reasons along.
    for key share skip locked
  ),
  fort as (
    delete from portal.pruefgrund p
    where p.sichtbeobachtung_id = any (set_pruefgrund.id) and not exists (
      select from portal.sichtbeobachtung s
      where s.id = p.sichtbeobachtung_id and case when s.bereich = 'oeffentlich' then s.status = 'pruefung' end)
  )
  insert into portal.pruefgrund as p (
    sichtbeobachtung_id, gruende, codes, auffaelligkeit, berechnet, nutzer_id, art, gid, mandanten, angelegt, mit_foto)
  select w.id, g.gruende, g.codes, g.auffaelligkeit, now(), w.nutzer_id, w.art, w.gid, m.mandanten, w.angelegt, w.mit_foto
  from wartend w
  cross join lateral (
    select array(select l.mandant_id from portal.mandant_sichtbeobachtung l where l.sichtbeobachtung_id = w.id) as mandanten
    offset 0
  ) m
  cross join lateral (
    select coalesce(jsonb_agg(jsonb_build_object('code', k.code, 'text', k.text, 'werte', k.werte) order by k.gewicht desc, k.code, k.text), '[]') as gruende,
      coalesce(array_agg(distinct k.code), '{}') as codes, coalesce(sum(k.gewicht), 0)::integer as auffaelligkeit
    from private.list_pruefgrund(
      w.art, w.point, m.mandanten, w.datum, w.anzahl, w.stadium_id, w.aktivitaet_id, nur_offene => false) k
  ) g
  on conflict (sichtbeobachtung_id) do update
  set gruende = excluded.gruende, codes = excluded.codes, auffaelligkeit = excluded.auffaelligkeit, berechnet = excluded.berechnet,
    nutzer_id = excluded.nutzer_id, art = excluded.art, gid = excluded.gid, mandanten = excluded.mandanten, angelegt = excluded.angelegt,
    mit_foto = excluded.mit_foto;
end
$$;

-- Counts what was released and finds out the reasons of what waits, as far as something changed. One session at a time; another one finds
-- nothing to do.
--   row_limit  changes of each kind at most
-- returns      how many were worked off
create or replace function api.set_pruefung(row_limit integer)
  returns integer
  language plpgsql
  volatile
as $$
declare
  v_count integer;
  v_ids bigint[];
begin
  if not api.is_pruef_zahl_vollstaendig()
    or not exists (select from portal.pruef_zahl_offen) and not exists (select from portal.pruefgrund_offen) then
    return 0;
  end if;
  begin
    perform private.require_pruefung_lock();
  exception
    when lock_not_available then return 0;
  end;
  v_count := private.count_pruef_zahl(set_pruefung.row_limit);
  with done as (
    delete from portal.pruefgrund_offen o
    using (select f.id from portal.pruefgrund_offen f order by f.id limit set_pruefung.row_limit) f
    where o.id = f.id
    returning o.sichtbeobachtung_id
  )
  select coalesce(array_agg(d.sichtbeobachtung_id), '{}') into v_ids from done d;
  perform private.set_pruefgrund(v_ids);
  return v_count + cardinality(v_ids);
end
$$;
comment on function api.set_pruefung(integer) is 'Counts released records by species and keeps why waiting ones are odd, where something changed';

-- The same for all that wait, whose species is known better by now.
--   after_id, row_limit  the part of the records to look at
-- returns                the last id looked at, null at the end
create or replace function api.set_pruefgrund_aller(after_id bigint, row_limit integer)
  returns bigint
  language plpgsql
  volatile
as $$
declare
  v_ids bigint[] := array(
    select s.id
    from portal.sichtbeobachtung s
    where s.bereich = 'oeffentlich' and s.status = 'pruefung' and s.id > set_pruefgrund_aller.after_id
    order by s.id
    limit set_pruefgrund_aller.row_limit);
begin
  perform private.set_pruefgrund(v_ids);
  return v_ids[cardinality(v_ids)];
end
$$;
comment on function api.set_pruefgrund_aller(bigint, integer) is 'Finds out anew why records that wait for their review are odd, part by part';
