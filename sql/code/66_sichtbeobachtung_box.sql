-- Which sightings lie in a box or in a range of days, newest first.
--
-- The spatial indexes end with id and deliver the records of a box by the distance of their id to a number above it, which is
-- their order. `order by id desc` made the planner sort whole boxes (503 ms for 100 km at 10 million against 1.9). Distances
-- are float8: exact up to 2^53 - 1, which is why no id beyond it is ever asked for.

-- The newest records that a reader is shown inside a box; what is published, or of that what is released for anonymous.
--   reader      who asks, null for anonymous
--   exempt      the reader is administrator or expert
--   status      null = any
--   arts_here   the species that the addressed tenant protects
--   x1 … y2     the box, EPSG:25832 (metres), edges included
--   datum_von, datum_bis  days, null = any
--   before_id   at most 2^53 - 1
create or replace function private.list_sichtbeobachtung_id_in_box(
  reader bigint, exempt boolean, status portal.status, arts_here integer[], x1 float8, y1 float8, x2 float8, y2 float8,
  datum_von date, datum_bis date, before_id bigint, row_limit integer)
  returns bigint[]
  language plpgsql
  stable
as $$
declare
  v_von date := coalesce(datum_von, '-infinity');
  v_bis date := coalesce(datum_bis, 'infinity');
  v_id bigint[];
begin
  if reader is null then
    status := 'freigegeben';
    v_id := private.list_sichtbeobachtung_id_by_walk(arts_here, x1, y1, x2, y2, v_von, v_bis, before_id, row_limit);
  else
    v_id := private.list_sichtbeobachtung_id_by_walk_of_reader(
      reader, exempt, status, arts_here, x1, y1, x2, y2, v_von, v_bis, before_id, row_limit);
  end if;
  if v_id is null then
    v_id := private.list_sichtbeobachtung_id_by_place(
      reader, exempt, status, arts_here, x1, y1, x2, y2, datum_von, datum_bis, before_id, row_limit);
  end if;
  -- Sorted here: with sorting switched off, as the index needs it, a sort looks so dear that it is compiled first (20 ms).
  return array(select b.id from unnest(v_id) b (id) order by b.id desc limit row_limit);
end
$$;

-- A box where much is reported, for anonymous readers: back from the newest record. The index of the walk holds all that is
-- compared. A page of the whole country needs a hundred records of it, one of a 100 km box three thousand: 40 pages, against 200
-- of the spatial index.
-- parameters as in private.list_sichtbeobachtung_id_in_box
-- returns  null when too few of the newest records lie in the box
create or replace function private.list_sichtbeobachtung_id_by_walk(
  arts_here integer[], x1 float8, y1 float8, x2 float8, y2 float8, von date, bis date, before_id bigint, row_limit integer)
  returns bigint[]
  language plpgsql
  stable
  set enable_sort = off
  set enable_bitmapscan = off
as $$
declare
  v_id bigint[];
  v_depth integer;
begin
  -- First 500 records (0.1 ms); one in 45 of them inside promises that the page is full before it costs more than the spatial
  -- index (1 to 1.5 ms for 10 and 100 km at 10 million).
  foreach v_depth in array array[500, 500 + 80 * row_limit] loop
    v_id := array(
      select w.id
      from (
        -- By rows of status and id, which only this index delivers: the one on id has all the new reports in it that wait for
        -- their review.
        select s.id, s.shown_point, s.datum, s.art, s.schutz
        from portal.sichtbeobachtung s
        where s.bereich = 'oeffentlich'
          and (s.status, s.id) >= ('freigegeben', 0) and (s.status, s.id) < ('freigegeben', before_id)
        order by s.status desc, s.id desc
        limit v_depth
      ) w
      where case
          -- Nobody's record: anonymous readers own none. A shown point is in the cell of the true one.
          when private.is_masked(w.schutz, w.art = any (arts_here), 0, null, false)
          then (
            select st_x(z.centre) between x1 and x2 and st_y(z.centre) between y1 and y2
            from private.to_raster_point(private.to_cell(st_x(w.shown_point)), private.to_cell(st_y(w.shown_point))) z (centre))
          else st_x(w.shown_point) between x1 and x2 and st_y(w.shown_point) between y1 and y2 end
        and w.datum between von and bis
      limit row_limit);
    if cardinality(v_id) = row_limit then
      return v_id;
    end if;
    exit when cardinality(v_id) < 11;
  end loop;
  return null;
end
$$;

-- The same for readers who are logged in, who see true places that this index does not hold.
-- parameters as in private.list_sichtbeobachtung_id_in_box
-- returns  null when too few of the newest records lie in the box
create or replace function private.list_sichtbeobachtung_id_by_walk_of_reader(
  reader bigint, exempt boolean, status portal.status, arts_here integer[], x1 float8, y1 float8, x2 float8, y2 float8,
  von date, bis date, before_id bigint, row_limit integer)
  returns bigint[]
  language plpgsql
  stable
  set enable_sort = off
  set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_id bigint[];
  v_depth integer;
begin
  -- First 250 records (0.1 ms); one in 25 of them inside promises that the page is full before it costs more than the index.
  foreach v_depth in array array[250, 250 + 40 * row_limit] loop
    v_id := array(
      select w.id
      from (
        select s.id, s.datum, s.status, s.schutz, s.art, s.nutzer_id, s.point, s.raster_point
        from portal.sichtbeobachtung s
        where s.bereich = 'oeffentlich' and s.id < before_id
        order by s.id desc
        limit v_depth
      ) w
      cross join lateral (
        select case when private.is_masked(w.schutz, w.art = any (arts_here), w.nutzer_id, reader, exempt) then w.raster_point
          else w.point end as place
        offset 0
      ) k
      where st_x(k.place) between x1 and x2 and st_y(k.place) between y1 and y2
        and w.datum between von and bis
        and (list_sichtbeobachtung_id_by_walk_of_reader.status is null
          or w.status = list_sichtbeobachtung_id_by_walk_of_reader.status)
      limit row_limit);
    if cardinality(v_id) = row_limit then
      return v_id;
    end if;
    exit when cardinality(v_id) < 10;
  end loop;
  return null;
end
$$;

-- Any other box: by the indexes on the place that everyone is shown of what nobody protects, released or not, and by the one on
-- the centres of cells of what anybody protects. There the box is widened, because the place that this reader is shown is at
-- most half a cell from the centre.
-- parameters as in private.list_sichtbeobachtung_id_in_box
-- returns  ids, up to three times row_limit in any order; the newest row_limit are among them
create or replace function private.list_sichtbeobachtung_id_by_place(
  reader bigint, exempt boolean, status portal.status, arts_here integer[], x1 float8, y1 float8, x2 float8, y2 float8,
  datum_von date, datum_bis date, before_id bigint, row_limit integer)
  returns bigint[]
  language plpgsql
  stable
  -- Without these the planner prefers to fetch the whole box and to sort it.
  set enable_sort = off
  set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_status portal.status := list_sichtbeobachtung_id_by_place.status;
  v_box public.geometry := st_makeenvelope(x1, y1, x2, y2, 25832);
  v_von date := coalesce(datum_von, '-infinity');
  v_bis date := coalesce(datum_bis, 'infinity');
  v_released bigint[] := '{}';
  v_others bigint[] := '{}';
  v_protected bigint[];
begin
  -- && compares boxes of 32-bit floats and takes in what lies 0.3 m outside: hence the comparison of the coordinates.
  if v_status <> 'freigegeben' then
    null; -- none of the released ones is asked for
  elsif datum_von is null and datum_bis is null then
    -- On its own: a condition that is always true costs a quarter more, because the index tests it too.
    v_released := array(
      select s.id
      from portal.sichtbeobachtung s
      where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.schutz = 0
        and s.shown_point && v_box
        and st_x(s.shown_point) between x1 and x2 and st_y(s.shown_point) between y1 and y2
        and s.id < before_id
      order by s.id <-> before_id
      limit row_limit);
  else
    v_released := array(
      select s.id
      from portal.sichtbeobachtung s
      where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.schutz = 0
        and s.shown_point && v_box
        and st_x(s.shown_point) between x1 and x2 and st_y(s.shown_point) between y1 and y2
        and s.datum between v_von and v_bis
        and s.id < before_id
      order by s.id <-> before_id
      limit row_limit);
  end if;
  -- From here on only what is newer than a full page of the above: otherwise all of a large box would be compared.
  if v_status is distinct from 'freigegeben' then
    v_others := array(
      select s.id
      from portal.sichtbeobachtung s
      where s.bereich = 'oeffentlich' and s.status <> 'freigegeben' and s.schutz = 0
        and s.shown_point && v_box
        and st_x(s.shown_point) between x1 and x2 and st_y(s.shown_point) between y1 and y2
        and s.datum between v_von and v_bis
        and (v_status is null or s.status = v_status)
        and s.id < before_id and s.id > coalesce(v_released[row_limit], 0)
      order by s.id <-> before_id
      limit row_limit);
  end if;
  v_protected := array(
    select s.id
    from portal.sichtbeobachtung s
    cross join lateral (
      select case when private.is_masked(s.schutz, s.art = any (arts_here), s.nutzer_id, reader, exempt) then s.raster_point
        else s.point end as place
    ) k
    where s.bereich = 'oeffentlich' and s.schutz > 0
      and s.raster_point && st_expand(v_box, 2500.5)
      and st_x(k.place) between x1 and x2 and st_y(k.place) between y1 and y2
      and s.datum between v_von and v_bis
      and (v_status is null or s.status = v_status)
      and s.id < before_id and s.id > coalesce(greatest(v_released[row_limit], v_others[row_limit]), 0)
    order by s.id <-> before_id
    limit row_limit);
  return v_released || v_others || v_protected;
end
$$;

-- The newest released records of a range of days. A b-tree walks the wrong end here (1 110 ms at 10 million).
create or replace function private.list_sichtbeobachtung_id_in_time(von date, bis date, before_id bigint, row_limit integer)
  returns bigint[]
  language plpgsql
  stable
  set enable_sort = off
  set enable_bitmapscan = off
as $$
begin
  return array(
    select s.id
    from portal.sichtbeobachtung s
    where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.datum between von and bis and s.id < before_id
    order by s.id <-> before_id
    limit row_limit);
end
$$;
