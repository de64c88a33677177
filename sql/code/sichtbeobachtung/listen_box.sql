-- Which sightings lie in a box or in a range of days, newest first.
--
-- The spatial indexes end with id and deliver the records of a box by the distance of their id to a number above it, which is
-- their order. `order by id desc` made the planner sort whole boxes (503 ms for 100 km at 10 million against 1.9). Distances
-- are float8: exact up to 2^53 - 1, which is why no id beyond it is ever asked for.
--
-- | reader | box | walk | index |
-- | --- | --- | --- | --- |
-- | anonymous | where much is reported | list_id_by_walk | sichtbeobachtung_status_shown, which holds all that is compared |
-- | logged in | where much is reported | list_id_by_walk_of_reader | sichtbeobachtung_neu, and the records |
-- | any | any other | list_id_by_place | sichtbeobachtung_shown, _unreleased, _protected |

-- The newest records that a reader is shown inside a box; what is published, or of that what is released for anonymous.
create or replace function private.list_id_in_box(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
as $$
declare
  v_id bigint[];
begin
  if f.reader is null then
    f.status := 'freigegeben';
    v_id := private.list_id_by_walk(f);
  else
    v_id := private.list_id_by_walk_of_reader(f);
  end if;
  if v_id is null then
    v_id := private.list_id_by_place(f);
  end if;
  -- Sorted here: with sorting switched off, as the index needs it, a sort looks so dear that it is compiled first (20 ms).
  return array(select b.id from unnest(v_id) b (id) order by b.id desc limit f.row_limit);
end
$$;

-- A box where much is reported, for anonymous readers: back from the newest record. The index of the walk holds all that is
-- compared. A page of the whole country needs a hundred records of it, one of a 100 km box three thousand: 40 pages, against 200
-- of the spatial index.
-- returns  null when too few of the newest records lie in the box
create or replace function private.list_id_by_walk(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
  set enable_sort = off
  set enable_bitmapscan = off
as $$
declare
  v_von constant date := coalesce(f.datum_von, '-infinity');
  v_bis constant date := coalesce(f.datum_bis, 'infinity');
  v_id bigint[];
  v_depth integer;
begin
  -- First 500 records (0.1 ms); one in 45 of them inside promises that the page is full before it costs more than the spatial
  -- index (1 to 1.5 ms for 10 and 100 km at 10 million).
  foreach v_depth in array array[500, 500 + 80 * f.row_limit] loop
    v_id := array(
      select w.id
      from (
        -- By rows of status and id, which only this index delivers: the one on id has all the new reports in it that wait for
        -- their review.
        select s.id, s.shown_point, s.datum, s.art, s.schutz
        from portal.sichtbeobachtung s
        where s.bereich = 'oeffentlich'
          and (s.status, s.id) >= ('freigegeben', 0) and (s.status, s.id) < ('freigegeben', f.before_id)
        order by s.status desc, s.id desc
        limit v_depth
      ) w
      where case
          -- Nobody's record: anonymous readers own none. A shown point is in the cell of the true one.
          when private.is_masked(w.schutz, w.art = any (f.arts_here), 0, null, false)
          then (
            select st_x(z.centre) between f.x1 and f.x2 and st_y(z.centre) between f.y1 and f.y2
            from private.to_raster_point(private.to_cell(st_x(w.shown_point)), private.to_cell(st_y(w.shown_point))) z (centre))
          else st_x(w.shown_point) between f.x1 and f.x2 and st_y(w.shown_point) between f.y1 and f.y2 end
        and w.datum between v_von and v_bis
      limit f.row_limit);
    if cardinality(v_id) = f.row_limit then
      return v_id;
    end if;
    exit when cardinality(v_id) < 11;
  end loop;
  return null;
end
$$;

-- The same for readers who are logged in, who see true places that this index does not hold.
-- returns  null when too few of the newest records lie in the box
create or replace function private.list_id_by_walk_of_reader(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
  set enable_sort = off
  set enable_bitmapscan = off
as $$
declare
  v_von constant date := coalesce(f.datum_von, '-infinity');
  v_bis constant date := coalesce(f.datum_bis, 'infinity');
  v_id bigint[];
  v_depth integer;
begin
  -- First 250 records (0.1 ms); one in 25 of them inside promises that the page is full before it costs more than the index.
  foreach v_depth in array array[250, 250 + 40 * f.row_limit] loop
    v_id := array(
      select w.id
      from (
        select s.id, s.datum, s.status, s.schutz, s.art, s.gid, s.nutzer_id, s.point, s.raster_point
        from portal.sichtbeobachtung s
        where s.bereich = 'oeffentlich' and s.id < f.before_id
        order by s.id desc
        limit v_depth
      ) w
      cross join lateral (
        select case when private.is_masked(
            w.schutz, w.art = any (f.arts_here), w.nutzer_id, f.reader, private.is_zustaendig(f.zustaendig, w.id, w.gid))
          then w.raster_point else w.point end as place
        offset 0
      ) k
      where st_x(k.place) between f.x1 and f.x2 and st_y(k.place) between f.y1 and f.y2
        and w.datum between v_von and v_bis
        and (f.status is null or w.status = f.status)
      limit f.row_limit);
    if cardinality(v_id) = f.row_limit then
      return v_id;
    end if;
    exit when cardinality(v_id) < 10;
  end loop;
  return null;
end
$$;

-- Any other box: by the indexes on the place that everyone is shown of what nobody protects, released or not, and by the one on
-- the centres of cells of what anybody protects.
-- returns  ids, up to three times row_limit in any order; the newest row_limit are among them
create or replace function private.list_id_by_place(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
  -- Without these the planner prefers to fetch the whole box and to sort it.
  set enable_sort = off
  set enable_bitmapscan = off
as $$
declare
  v_box constant public.geometry := st_makeenvelope(f.x1, f.y1, f.x2, f.y2, 25832);
  -- for the centres: the place that this reader is shown is at most half a cell from there
  v_wide_box constant public.geometry := private.to_wide_box(v_box);
  v_von constant date := coalesce(f.datum_von, '-infinity');
  v_bis constant date := coalesce(f.datum_bis, 'infinity');
  v_released bigint[] := '{}';
  v_others bigint[] := '{}';
  v_protected bigint[];
begin
  -- && compares boxes of 32-bit floats and takes in what lies 0.3 m outside: hence the comparison of the coordinates.
  if f.status <> 'freigegeben' then
    null; -- none of the released ones is asked for
  elsif f.datum_von is null and f.datum_bis is null then
    -- On its own: a condition that is always true costs a quarter more, because the index tests it too.
    v_released := array(
      select s.id
      from portal.sichtbeobachtung s
      where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.schutz = 0
        and s.shown_point && v_box
        and st_x(s.shown_point) between f.x1 and f.x2 and st_y(s.shown_point) between f.y1 and f.y2
        and s.id < f.before_id
      order by s.id <-> f.before_id
      limit f.row_limit);
  else
    v_released := array(
      select s.id
      from portal.sichtbeobachtung s
      where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.schutz = 0
        and s.shown_point && v_box
        and st_x(s.shown_point) between f.x1 and f.x2 and st_y(s.shown_point) between f.y1 and f.y2
        and s.datum between v_von and v_bis
        and s.id < f.before_id
      order by s.id <-> f.before_id
      limit f.row_limit);
  end if;
  -- From here on only what is newer than a full page of the above: otherwise all of a large box would be compared.
  if f.status is distinct from 'freigegeben' then
    v_others := array(
      select s.id
      from portal.sichtbeobachtung s
      where s.bereich = 'oeffentlich' and s.status <> 'freigegeben' and s.schutz = 0
        and s.shown_point && v_box
        and st_x(s.shown_point) between f.x1 and f.x2 and st_y(s.shown_point) between f.y1 and f.y2
        and s.datum between v_von and v_bis
        and (f.status is null or s.status = f.status)
        and s.id < f.before_id and s.id > coalesce(v_released[f.row_limit], 0)
      order by s.id <-> f.before_id
      limit f.row_limit);
  end if;
  v_protected := array(
    select s.id
    from portal.sichtbeobachtung s
    cross join lateral (
      select case when private.is_masked(
          s.schutz, s.art = any (f.arts_here), s.nutzer_id, f.reader, private.is_zustaendig(f.zustaendig, s.id, s.gid))
        then s.raster_point else s.point end as place
    ) k
    where s.bereich = 'oeffentlich' and s.schutz > 0
      and s.raster_point && v_wide_box
      and st_x(k.place) between f.x1 and f.x2 and st_y(k.place) between f.y1 and f.y2
      and s.datum between v_von and v_bis
      and (f.status is null or s.status = f.status)
      and s.id < f.before_id and s.id > coalesce(greatest(v_released[f.row_limit], v_others[f.row_limit]), 0)
    order by s.id <-> f.before_id
    limit f.row_limit);
  return v_released || v_others || v_protected;
end
$$;

-- The newest records of a range of days, of those who are logged in whatever their status. A b-tree walks the wrong end here (1 110 ms at
-- 10 million). What is not released comes from the index on its place, which holds days too: it has no better one, and is short; only what
-- is newer than a full page of the others.
create or replace function private.list_id_of_days(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
  set enable_sort = off
  set enable_bitmapscan = off
as $$
declare
  v_von constant date := coalesce(f.datum_von, '-infinity');
  v_bis constant date := coalesce(f.datum_bis, 'infinity');
  v_released bigint[];
  v_others bigint[];
begin
  v_released := array(
    select s.id
    from portal.sichtbeobachtung s
    where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.datum between v_von and v_bis and s.id < f.before_id
    order by s.id <-> f.before_id
    limit f.row_limit);
  if f.reader is null then
    return v_released;
  end if;
  v_others := array(
    select s.id
    from portal.sichtbeobachtung s
    where s.bereich = 'oeffentlich' and s.status <> 'freigegeben' and s.datum between v_von and v_bis
      and s.id < f.before_id and s.id > coalesce(v_released[f.row_limit], 0)
    order by s.id <-> f.before_id
    limit f.row_limit);
  return array(select n.id from unnest(v_released || v_others) n (id) order by n.id desc limit f.row_limit);
end
$$;
