-- Counts of released records by species, kept (O6.1): where, when, how many, in which stage and activity. A writer adds rows to
-- portal.pruef_zahl_offen that say what came and what went, and waits for nobody; a job adds them up. They come from
-- portal.sichtbeobachtung_gezeigt, which has exactly the released records, with their true cells: a report that waits costs nothing here.

-- The third of a month that a day lies in: days 1 to 10, 11 to 20, 21 to the end.
-- returns  0 to 35
create or replace function private.to_drittel(datum date)
  returns integer
  language sql
  immutable
  parallel safe
as $$
  select 3 * (extract(month from datum)::integer - 1) + least(2, (extract(day from datum)::integer - 1) / 10)
$$;

-- What a record counts for.
create or replace function private.list_merkmal(
  cell_x integer, cell_y integer, datum date, anzahl integer, stadium_id integer, aktivitaet_id integer)
  returns table (merkmal portal.merkmal, x integer, y integer)
  language sql
  immutable
  parallel safe
  rows 5
as $$
  select m.merkmal, m.x, m.y
  from (values
    ('zelle'::portal.merkmal, list_merkmal.cell_x, list_merkmal.cell_y),
    ('drittel', private.to_drittel(list_merkmal.datum), 0),
    ('anzahl', list_merkmal.anzahl, 0),
    ('stadium', list_merkmal.stadium_id, private.to_drittel(list_merkmal.datum)),
    ('aktivitaet', list_merkmal.aktivitaet_id, private.to_drittel(list_merkmal.datum))) m (merkmal, x, y)
  where m.x is not null
$$;

create or replace function private.pruef_zahl_after_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  if tg_op = 'INSERT' then
    insert into portal.pruef_zahl_offen (art, cell_x, cell_y, datum, anzahl, stadium_id, aktivitaet_id, offen, vorzeichen)
    select n.art, n.cell_x, n.cell_y, n.datum, n.anzahl, n.stadium_id, n.aktivitaet_id, n.unschaerfe_m = 0, 1 from new_row n;
  elsif tg_op = 'DELETE' then
    insert into portal.pruef_zahl_offen (art, cell_x, cell_y, datum, anzahl, stadium_id, aktivitaet_id, offen, vorzeichen)
    select o.art, o.cell_x, o.cell_y, o.datum, o.anzahl, o.stadium_id, o.aktivitaet_id, o.unschaerfe_m = 0, -1 from old_row o;
  else
    insert into portal.pruef_zahl_offen (art, cell_x, cell_y, datum, anzahl, stadium_id, aktivitaet_id, offen, vorzeichen)
    select k.art, k.cell_x, k.cell_y, k.datum, k.anzahl, k.stadium_id, k.aktivitaet_id, k.offen, k.vorzeichen
    from new_row n
    join old_row o using (id)
    cross join lateral (values
      (o.art, o.cell_x, o.cell_y, o.datum, o.anzahl, o.stadium_id, o.aktivitaet_id, o.unschaerfe_m = 0, -1),
      (n.art, n.cell_x, n.cell_y, n.datum, n.anzahl, n.stadium_id, n.aktivitaet_id, n.unschaerfe_m = 0, 1)
    ) k (art, cell_x, cell_y, datum, anzahl, stadium_id, aktivitaet_id, offen, vorzeichen)
    where (o.art, o.cell_x, o.cell_y, o.datum, o.anzahl, o.stadium_id, o.aktivitaet_id, o.unschaerfe_m)
      is distinct from (n.art, n.cell_x, n.cell_y, n.datum, n.anzahl, n.stadium_id, n.aktivitaet_id, n.unschaerfe_m);
  end if;
  return null;
end
$$;

-- Counts what came and what went. Under the lock of this work; what is counted leaves the list in the same transaction.
-- returns  how many records were counted
create or replace function private.count_pruef_zahl(row_limit integer)
  returns integer
  language plpgsql
  volatile
as $$
declare
  v_zahlen portal.pruef_zahl[];
  v_count integer;
begin
  with done as (
    delete from portal.pruef_zahl_offen o
    -- What came is listed before what went, so that no count is ever negative.
    using (select f.id from portal.pruef_zahl_offen f order by f.id limit count_pruef_zahl.row_limit) f
    where o.id = f.id
    returning o.*
  )
  select array_agg(row(k.art, k.merkmal, k.x, k.y, k.meldungen, k.offene)::portal.pruef_zahl),
    (select count(*)::integer from done)
  into v_zahlen, v_count
  from (
    select d.art, m.merkmal, m.x, m.y, sum(d.vorzeichen)::integer as meldungen, coalesce(sum(d.vorzeichen) filter (where d.offen), 0)::integer as offene
    from done d
    cross join lateral private.list_merkmal(d.cell_x, d.cell_y, d.datum, d.anzahl, d.stadium_id, d.aktivitaet_id) m
    group by d.art, m.merkmal, m.x, m.y
  ) k
  where k.meldungen <> 0 or k.offene <> 0;
  insert into portal.pruef_zahl as z
  select u.* from unnest(v_zahlen) u
  on conflict (art, merkmal, x, y) do update
  set meldungen = z.meldungen + excluded.meldungen, offene = z.offene + excluded.offene;
  delete from portal.pruef_zahl z
  using unnest(v_zahlen) u
  where u.meldungen < 0 and (z.art, z.merkmal, z.x, z.y) = (u.art, u.merkmal, u.x, u.y) and z.meldungen = 0;
  return v_count;
end
$$;

-- Counts everything anew: for a database that had records before it had counts.
create or replace function api.set_pruef_zahl_aller()
  returns void
  language plpgsql
  volatile
as $$
begin
  perform private.require_pruefung_lock();
  delete from portal.pruef_zahl;
  -- In one statement, so that a change is either seen in the records or still listed, never both.
  with leer as (
    delete from portal.pruef_zahl_offen
  )
  insert into portal.pruef_zahl (art, merkmal, x, y, meldungen, offene)
  select g.art, m.merkmal, m.x, m.y, count(*), count(*) filter (where g.unschaerfe_m = 0)
  from portal.sichtbeobachtung_gezeigt g
  cross join lateral private.list_merkmal(g.cell_x, g.cell_y, g.datum, g.anzahl, g.stadium_id, g.aktivitaet_id) m
  group by g.art, m.merkmal, m.x, m.y
  -- What belongs to a species stands together, for whoever reads it.
  order by g.art, m.merkmal, m.x, m.y;
  update portal.installation i set has_pruef_zahl = true where not i.has_pruef_zahl;
  -- Their reasons are found out by the job, in steps.
  insert into portal.pruefgrund_offen (sichtbeobachtung_id)
  select s.id from portal.sichtbeobachtung s where s.bereich = 'oeffentlich' and s.status = 'pruefung';
end
$$;
comment on function api.set_pruef_zahl_aller() is 'Counts all released records by species anew, for their review';

create or replace function api.is_pruef_zahl_vollstaendig()
  returns boolean
  language sql
  stable
as $$
  select coalesce((select i.has_pruef_zahl from portal.installation i), true)
$$;
comment on function api.is_pruef_zahl_vollstaendig() is 'Whether the counts for the review have all records, also those from before there were counts';
