-- Counts by squares of the grids, for maps and GIS programs (O2.3). Without a filter they are those that are kept; with one, records are
-- counted, in one of three ways:
--
-- | asked for | how | at 10 million |
-- | --- | --- | --- |
-- | a species or a group with few records; a small map: with up to a million | all of them, by species | 60 ms; 400 ms of the commonest |
-- | anything else, a page or a box | square by square, until the page is full | a page of 1000: 15 to 70 ms |
-- | anything else, for a small map | all records of all squares, in their order | 1 s for five years, 4 s for all |

-- Species that a filter names; null for all.
create or replace function ausgabe.to_arten(art integer, gid integer)
  returns integer[]
  language sql
  stable
as $$
  select array(
    select a.id from gis.art a
    where (to_arten.art is null or a.id = to_arten.art) and (to_arten.gid is null or a.gid = to_arten.gid))
  where coalesce(to_arten.art, to_arten.gid) is not null
$$;
comment on function ausgabe.to_arten(integer, integer) is 'Species that a filter by species and group names, null for all';

-- Which of the three ways is the shortest, as measured at 10 million records.
--   squares       from more of them on, records may be counted sooner than squares are walked through
--   page_records  where that is for a page, with no more records than this
--   map_records   and for a map, which wants all squares, with no more than this
create or replace function ausgabe.get_raster_limits()
  returns table (squares integer, page_records integer, map_records integer)
  language sql
  immutable
  parallel safe
  rows 1
as $$
  select 2000, 60000, 1000000
$$;
comment on function ausgabe.get_raster_limits() is 'Numbers of squares and sightings from which on grids are counted in another way';

-- Whether some species have no more records than that.
--   arten  null for all species: those are never few
create or replace function ausgabe.has_few_records(arten integer[], most integer)
  returns boolean
  language sql
  stable
as $$
  select arten is not null and (
    select count(*) <= has_few_records.most
    from (select from gis.sichtbeobachtung_raster g where g.art = any (has_few_records.arten) limit has_few_records.most + 1) f)
$$;
comment on function ausgabe.has_few_records(integer[], integer) is 'Whether species have no more sightings than that';

-- Counts by the numbers of squares: what the other functions here choose from.
--   box               EPSG:25832: squares that meet it; null for all
--   after_x, after_y  squares behind these numbers; null from the beginning
--   row_limit         at most so many, in the order of their numbers; null for all
-- returns             x, y as in gis.raster_feld
create or replace function ausgabe.list_raster_zahl(
  gitter text, art integer, gid integer, jahr_von integer, jahr_bis integer, box public.geometry, after_x integer, after_y integer,
  row_limit integer)
  returns table (
    x integer, y integer, meldungen bigint, arten bigint, erstes_jahr integer, letztes_jahr integer, verschleiert bigint)
  language plpgsql
  stable
  -- Compiling takes longer than any of its statements.
  set jit = off
as $$
#variable_conflict use_column
declare
  -- There is no date of a year 0, which outputs allow.
  v_from constant date := coalesce(pg_catalog.make_date(nullif(jahr_von, 0), 1, 1), '-infinity');
  v_before constant date := coalesce(pg_catalog.make_date(jahr_bis + 1, 1, 1), 'infinity');
  v_arten constant integer[] := ausgabe.to_arten(list_raster_zahl.art, gid);
  v_after_x constant integer := coalesce(after_x, -1000000000);
  v_after_y constant integer := coalesce(after_y, -1000000000);
  v_square constant text := case gitter
    when '5km' then 'g.cell_x = z.x and g.cell_y = z.y'
    when 'eea10' then 'g.eea10 = z.x * 1000 + z.y'
    when 'mtb' then 'g.tk between (z.x * 100 + z.y) * 10 + 1 and (z.x * 100 + z.y) * 10 + 4'
    when 'mtbq' then 'g.tk = z.x * 10 + z.y' end;
  v_x integer[];
  v_y integer[];
begin
  if v_square is null then
    return;
  end if;
  if box is not null then
    select array_agg(m.x order by m.x, m.y), array_agg(m.y order by m.x, m.y) into v_x, v_y
    from (
      select distinct f.x, f.y
      from gis.raster_feld f
      where f.gitter = list_raster_zahl.gitter and f.cell operator(public.&&) box and public.st_intersects(f.cell, box)
        and (f.x, f.y) > (v_after_x, v_after_y)
    ) m;
  end if;

  if v_arten is null and jahr_von is null and jahr_bis is null and box is null then
    return query
    select z.x, z.y, z.meldungen, z.arten::bigint, z.erstes_jahr, z.letztes_jahr, z.verschleiert
    from gis.raster_zahl z
    where z.gitter = list_raster_zahl.gitter and (z.x, z.y) > (v_after_x, v_after_y)
    order by z.x, z.y
    limit row_limit;
  elsif v_arten is null and jahr_von is null and jahr_bis is null then
    return query
    with kept as materialized (
      select z.x, z.y, z.meldungen, z.arten::bigint, z.erstes_jahr, z.letztes_jahr, z.verschleiert
      from gis.raster_zahl z
      -- By numbers, too, because all that are kept would be 30 ms.
      where z.gitter = list_raster_zahl.gitter and z.x between v_x[1] and v_x[cardinality(v_x)]
        and z.y between (select min(u.y) from unnest(v_y) u (y)) and (select max(u.y) from unnest(v_y) u (y))
    )
    select k.* from kept k where (k.x, k.y) in (select u.x, u.y from unnest(v_x, v_y) u (x, y)) order by k.x, k.y limit row_limit;
  elsif v_arten is not null and (
    select (box is null or cardinality(v_x) > l.squares) and ausgabe.has_few_records(v_arten, l.page_records)
    from ausgabe.get_raster_limits() l) then
    return query
    select a.x, a.y, sum(a.meldungen)::bigint, count(*), extract(year from min(a.erster_tag))::integer,
      extract(year from max(a.letzter_tag))::integer, sum(a.verschleiert)::bigint
    from ausgabe.list_art_zahl(gitter, 0, v_arten, v_from, v_before) a
    where (a.x, a.y) > (v_after_x, v_after_y) and (box is null or (a.x, a.y) in (select u.x, u.y from unnest(v_x, v_y) u (x, y)))
    group by a.x, a.y
    order by a.x, a.y
    limit row_limit;
  else
    -- The nested loop keeps the order of the squares, and ends with the last one of the page.
    return query execute '
      with feld as materialized ('
        || case when box is null
          then 'select b.x, b.y from gis.raster_besetzt b where b.gitter = $1 and (b.x, b.y) > ($2, $3) order by b.x, b.y'
          else 'select u.x, u.y from unnest($4, $5) with ordinality u (x, y, n) order by u.n' end || ')
      select z.x, z.y, c.*
      from feld z
      cross join lateral (
        select count(*), count(distinct g.art), extract(year from min(g.datum))::integer, extract(year from max(g.datum))::integer,
          count(*) filter (where g.unschaerfe_m > 0)
        from gis.sichtbeobachtung_raster g
        where ' || v_square || ' and g.datum >= $6 and g.datum < $7'
        -- Not looked up one by one, where a group has hundreds.
        || case when v_arten is null then '' when cardinality(v_arten) = 1 then ' and g.art = $8[1]' else ' and (g.art = any ($8)) is true' end || '
        having count(*) > 0) c
      limit $9'
      using list_raster_zahl.gitter, v_after_x, v_after_y, v_x, v_y, v_from, v_before, v_arten, row_limit;
  end if;
end
$$;
comment on function ausgabe.list_raster_zahl(text, integer, integer, integer, integer, public.geometry, integer, integer, integer) is
  'Counts of sightings and species by the numbers of squares of a grid';

-- All records of some species counted by square and species. Of the 5 km grid, 2 to the power of stufe cells make a side.
--   tag_von, tag_vor  days, the second one not included
create or replace function ausgabe.list_art_zahl(gitter text, stufe integer, arten integer[], tag_von date, tag_vor date)
  returns table (x integer, y integer, meldungen bigint, erster_tag date, letzter_tag date, verschleiert bigint)
  language sql
  stable
as $$
  select q.x, q.y, count(*), min(q.datum), max(q.datum), count(*) filter (where q.unschaerfe_m > 0)
  from (
    select g.art, g.datum, g.unschaerfe_m,
      case list_art_zahl.gitter
        when '5km' then g.cell_x >> list_art_zahl.stufe when 'eea10' then g.eea10 / 1000 when 'mtb' then g.tk / 1000 when 'mtbq' then g.tk / 10 end as x,
      case list_art_zahl.gitter
        when '5km' then g.cell_y >> list_art_zahl.stufe when 'eea10' then g.eea10 % 1000 when 'mtb' then g.tk / 10 % 100 when 'mtbq' then g.tk % 10 end as y
    from gis.sichtbeobachtung_raster g
    where g.art = any (list_art_zahl.arten) and g.datum >= list_art_zahl.tag_von and g.datum < list_art_zahl.tag_vor
  ) q
  where q.x is not null
  group by q.x, q.y, q.art
$$;
comment on function ausgabe.list_art_zahl(text, integer, integer[], date, date) is
  'Counts of sightings of some species by square of a grid and species';

-- Records counted by larger squares and species: 2 to the power of stufe cells of the 5 km grid make a side.
--   arten              species; null for all
--   tag_von, tag_vor   days, the second one not included
--   x_min, x_max, …    numbers of cells, the last ones not included
create or replace function ausgabe.list_art_zahl_grob(
  stufe integer, arten integer[], tag_von date, tag_vor date, x_min integer, x_max integer, y_min integer, y_max integer)
  returns table (x integer, y integer, meldungen bigint)
  language plpgsql
  stable
  -- Compiling takes longer than any of its statements.
  set jit = off
as $$
#variable_conflict use_column
declare
  -- Not looked up one by one, where a group has hundreds.
  v_chosen constant text := 'g.datum >= $3 and g.datum < $4' || case
    when arten is null then '' when cardinality(arten) = 1 then ' and g.art = $2[1]' else ' and (g.art = any ($2)) is true' end;
  v_limits record;
begin
  select * into v_limits from ausgabe.get_raster_limits();
  if (select count(*) > v_limits.squares from (
    select from gis.raster_besetzt b
    where b.gitter = '5km' and b.x >= x_min and b.x < x_max and b.y >= y_min and b.y < y_max limit v_limits.squares + 1) f) then
    if ausgabe.has_few_records(arten, v_limits.map_records) then
      return query
      select a.x, a.y, a.meldungen
      from ausgabe.list_art_zahl('5km', stufe, arten, tag_von, tag_vor) a
      where a.x >= x_min >> stufe and a.x < x_max >> stufe and a.y >= y_min >> stufe and a.y < y_max >> stufe;
      return;
    end if;
    -- By cell first, in the order of an index: what is left then is a tenth.
    return query execute '
      select q.cell_x >> $1, q.cell_y >> $1, sum(q.meldungen)::bigint
      from (
        select g.cell_x, g.cell_y, g.art, count(*) as meldungen
        from gis.sichtbeobachtung_raster g
        where g.cell_x >= $5 and g.cell_x < $6 and g.cell_y >= $7 and g.cell_y < $8 and ' || v_chosen || '
        group by g.cell_x, g.cell_y, g.art) q
      group by q.cell_x >> $1, q.cell_y >> $1, q.art'
      using stufe, arten, tag_von, tag_vor, x_min, x_max, y_min, y_max;
    return;
  end if;
  return query execute '
    select q.x >> $1, q.y >> $1, sum(q.meldungen)::bigint
    from (
      select z.x, z.y, c.art, c.meldungen
      from (
        select b.x, b.y from gis.raster_besetzt b
        where b.gitter = ''5km'' and b.x >= $5 and b.x < $6 and b.y >= $7 and b.y < $8 offset 0) z
      cross join lateral (
        select g.art, count(*) as meldungen
        from gis.sichtbeobachtung_raster g
        where g.cell_x = z.x and g.cell_y = z.y and ' || v_chosen || '
        group by g.art) c) q
    group by q.x >> $1, q.y >> $1, q.art'
    using stufe, arten, tag_von, tag_vor, x_min, x_max, y_min, y_max;
end
$$;
comment on function ausgabe.list_art_zahl_grob(integer, integer[], date, date, integer, integer, integer, integer) is
  'Counts of sightings by larger square and species, by species and days';
