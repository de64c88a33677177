-- Lists by any filters together: statements that are put together from what is asked for.

-- The ids of one page, descending.
-- Three ways, each tried when the one before did not fill the page: the newest thousand records of one filter that has an
-- index, further back in that index when enough of them matched, and whatever the planner finds best for few records. The
-- planner alone can't tell: that a species is frequent but not in this box, or that its records of a year are all old.
-- In all of them $1 is the filter and $2 how far back; nothing that a client sent becomes part of a statement's text.
create or replace function private.list_id_of_filters(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
as $$
declare
  v_own constant boolean := f.bereich <> 'oeffentlich';
  v_masked constant text := case when v_own or f.exempt then 'false'
    else 'private.is_masked(s.schutz, s.art = any (($1).arts_here), s.nutzer_id, ($1).reader, '
      'private.is_zustaendig(($1).zustaendig, s.id, s.gid))' end;
  v_scope constant text := case when v_own then 's.nutzer_id = ($1).reader' else $s$s.bereich = 'oeffentlich'$s$ end
    || ' and s.id < ($1).before_id';
  v_from constant text := format(
    'cross join lateral (select case when %s then s.raster_point else s.point end as place) k', v_masked);
  v_where text[] := array[v_scope];
  v_of_mandant text[] := '{}';
  -- what the index of the walk delivers, by id
  v_base text := format('select s.* from portal.sichtbeobachtung s where %s', v_scope);
  -- the columns of the tenants' index and their values, when that is what is walked
  v_columns text;
  v_values text;
  v_page text;
  v_id bigint[];
  v_depth integer;
  v_walked integer;
begin
  if f.bereich = 'privat' then
    v_where := v_where || $s$s.bereich = 'privat'$s$::text;
  elsif f.reader is null then
    v_where := v_where || $s$s.status = 'freigegeben'$s$::text;
  end if;
  if f.reader is not null and f.status is not null then
    v_where := v_where || 's.status = ($1).status'::text;
  end if;
  if f.arts is not null then
    v_where := v_where || case when cardinality(f.arts) = 1 then 's.art = (($1).arts)[1]' else 's.art = any (($1).arts)' end;
  end if;
  if f.gids is not null then
    v_where := v_where || case when cardinality(f.gids) = 1 then 's.gid = (($1).gids)[1]' else 's.gid = any (($1).gids)' end;
  end if;
  if f.jahr is not null then
    v_where := v_where || 's.jahr = ($1).jahr'::text;
  end if;
  if f.datum_von is not null then
    v_where := v_where || 's.datum >= ($1).datum_von'::text;
  end if;
  if f.datum_bis is not null then
    v_where := v_where || 's.datum <= ($1).datum_bis'::text;
  end if;
  if f.x1 is not null then
    v_where := v_where || 'st_x(k.place) between ($1).x1 and ($1).x2 and st_y(k.place) between ($1).y1 and ($1).y2'::text;
  end if;
  if f.mandant is not null then
    v_of_mandant := array[format(
      'exists (select from portal.mandant_sichtbeobachtung t '
      'where t.sichtbeobachtung_id = s.id and t.mandant_id = ($1).mandant and (t.exakt or %s))', v_masked)];
  end if;

  if not v_own then
    if cardinality(f.arts) = 1 then
      v_base := v_base || ' and s.art = (($1).arts)[1]' || case when f.jahr is not null then ' and s.jahr = ($1).jahr' else '' end;
    elsif f.mandant is not null then
      v_columns := format('(l.mandant_id, l.frei, %sl.sichtbeobachtung_id)', case when cardinality(f.gids) = 1 then 'l.gid, ' end);
      v_values := format('(($1).mandant, %%L, %s%%s)', case when cardinality(f.gids) = 1 then '(($1).gids)[1], ' end);
      -- The index holds what everyone is shown, then the rest, both by id.
      select format('(select * from (%s) w order by w.sichtbeobachtung_id desc limit $2)', string_agg(
        format(
          '(select l.sichtbeobachtung_id, l.exakt from portal.mandant_sichtbeobachtung l '
          'where %1$s >= %2$s and %1$s < %3$s order by %4$s desc limit $2)',
          v_columns, format(v_values, h.frei, 0), format(v_values, h.frei, '($1).before_id'),
          replace(btrim(v_columns, '()'), ',', ' desc,')),
        ' union all '))
      into v_base
      from (values (true), (false)) h (frei)
      where case when f.reader is null then h.frei
        else coalesce(h.frei = (f.status = 'freigegeben'), true) end;
    elsif cardinality(f.gids) = 1 then
      v_base := v_base || ' and s.gid = (($1).gids)[1]';
    elsif f.jahr is not null then
      v_base := v_base || ' and s.jahr = ($1).jahr';
    end if;
  end if;
  if v_columns is null then
    v_base := format('(%s order by s.id desc limit $2)', v_base);
    v_page := format(
      'select array(select s.id from %s s %s where %s order by s.id desc limit ($1).row_limit)',
      v_base, v_from, array_to_string(v_where || v_of_mandant, ' and '));
  else
    -- The order is that of the walk: `offset 0` looks each record up in its turn, and nothing else is joined.
    v_page := format(
      'select array(select s.id from %s b cross join lateral ('
      'select r.* from portal.sichtbeobachtung r where r.id = b.sichtbeobachtung_id offset 0) s %s where %s limit ($1).row_limit)',
      v_base, v_from, array_to_string(v_where || format('(b.exakt or %s)', v_masked), ' and '));
  end if;

  foreach v_depth in array array[1000, 30000 + 100 * f.row_limit] loop
    execute v_page into v_id using f, v_depth;
    if cardinality(v_id) = f.row_limit then
      return v_id;
    end if;
    execute format('select count(*) from %s b', v_base) into v_walked using f, v_depth;
    if v_walked < v_depth then
      return v_id;
    end if;
    exit when cardinality(v_id) * (30 + f.row_limit / 10) < f.row_limit;
  end loop;

  v_where := v_where || v_of_mandant;
  -- Each of the two indexes holds a part of what is published; both are on the place that everyone is shown.
  if f.x1 is not null and not v_own then
    v_where := v_where || replace(
      case when f.reader is null then '@box'
        else $s$(s.status = 'freigegeben' and @box or s.status <> 'freigegeben' and @box)$s$ end,
      '@box', 's.shown_point && private.to_wide_box(st_makeenvelope(($1).x1, ($1).y1, ($1).x2, ($1).y2, 25832))');
  end if;
  -- `+ 0` keeps the planner from walking all ids backwards, which was tried.
  execute format(
    'select array(select s.id from portal.sichtbeobachtung s %s where %s order by s.id + 0 desc limit ($1).row_limit)',
    v_from, array_to_string(v_where, ' and '))
  into v_id using f;
  return v_id;
end
$$;
