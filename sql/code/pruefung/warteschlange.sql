-- The queue of reviewers (O6): what waits and is theirs to decide. Of portal.pruefgrund, which a job keeps: a new report is there seconds
-- later, one that was decided meanwhile is left out here.

-- How many records of a group a recorder had released, 20 for more.
create or replace function private.get_erfahrung(nutzer_id bigint, gid integer)
  returns integer
  language plpgsql
  stable
as $$
begin
  return (
    select count(*)
    from (
      select
      from portal.sichtbeobachtung s
      where s.nutzer_id = get_erfahrung.nutzer_id and s.gid = get_erfahrung.gid and s.bereich = 'oeffentlich' and s.status = 'freigegeben'
      limit 20) s);
end
$$;

-- A page of the queue.
--   tenant          the addressed tenant: names, ids
--   filter          JSON object: grund (a code), mandant (abbreviation), gid, art, seit (day of the report, Europe/Berlin), mit_foto; what is
--                   missing matches everything
--   auffaellig      the oddest first, else the oldest
--   after           where to go on: {auffaelligkeit, id} of the last row
-- returns           sichtbeobachtungen: JSON array as text, each with all fields as this reader is shown them; zeilen: JSON array of id, stand,
--                   gruende, bestaetigungen (releases of two that a rule asks for), erfahrung (what its recorder had released of the
--                   group, 20 for more), nachrichten, in the same order; naechste: where to go on, null on the last page
-- errors            NRCHT experts and administrators only; MANUN no such tenant
create or replace function api.list_warteschlange(
  tenant integer, reader bigint, filter portal.felder, auffaellig boolean, after portal.felder, row_limit integer)
  returns table (sichtbeobachtungen text, zeilen jsonb, naechste jsonb)
  language plpgsql
  stable
as $$
declare
  z portal.zustaendigkeit := private.get_zustaendigkeit(reader, entscheiden => true);
  v_grund text := filter ->> 'grund';
  v_mandant integer;
  v_gid integer := (filter ->> 'gid')::integer;
  v_art integer := (filter ->> 'art')::integer;
  v_seit timestamptz := (filter ->> 'seit')::timestamp at time zone 'Europe/Berlin';
  v_mit_foto boolean := (filter ->> 'mit_foto')::boolean;
  v_order constant text := case when auffaellig then 'p.auffaelligkeit desc, p.sichtbeobachtung_id' else 'p.sichtbeobachtung_id' end;
  v_where text[] := '{"p.nutzer_id <> $1"}';
  v_id bigint[];
begin
  perform private.require_feld(filter, '{grund,mandant,gid,art,seit,mit_foto}');
  if not z.gilt then
    raise exception 'experts and administrators only' using errcode = 'NRCHT';
  end if;
  if filter ? 'mandant' then
    v_mandant := (private.list_mandant_id(array[filter ->> 'mandant'], 'mandant'))[1];
  end if;
  -- Put together of what is asked for: with `or … is null` no index serves. Nothing that was sent becomes part of the text.
  v_where := v_where
    || case when z.gids is not null then 'p.gid = any ($2)' end
    || case when z.mandanten is not null then 'p.mandanten && $3' end
    || case when v_grund is not null then '$4 = any (p.codes)' end
    || case when v_mandant is not null then '$5 = any (p.mandanten)' end
    || case when v_gid is not null then 'p.gid = $6' end
    || case when v_art is not null then 'p.art = $7' end
    || case when v_seit is not null then 'p.angelegt >= $8' end
    || case when v_mit_foto is not null then 'p.mit_foto = $9' end
    || case when after is null then null
      when auffaellig then '(p.auffaelligkeit, -p.sichtbeobachtung_id) < ($10, -$11)'
      else 'p.sichtbeobachtung_id > $11' end;
  execute format(
    'select array(
      select p.sichtbeobachtung_id
      from portal.pruefgrund p
      where %s and exists (
        select from portal.sichtbeobachtung s
        where s.id = p.sichtbeobachtung_id and case when s.bereich = ''oeffentlich'' then s.status = ''pruefung'' end
          and private.is_zustaendig($13, s.id, s.gid))
      order by %s
      limit $12)', array_to_string(v_where, ' and '), v_order)
  into v_id
  using reader, z.gids, z.mandanten, v_grund, v_mandant, v_gid, v_art, v_seit, v_mit_foto,
    (after ->> 'auffaelligkeit')::integer, (after ->> 'id')::bigint, row_limit + 1, z;

  if cardinality(v_id) > row_limit then
    select jsonb_build_object('id', p.sichtbeobachtung_id, 'auffaelligkeit', p.auffaelligkeit) into naechste
    from portal.pruefgrund p
    where p.sichtbeobachtung_id = v_id[row_limit];
  end if;
  v_id := v_id[:row_limit];
  sichtbeobachtungen := '[' || coalesce(private.render_sichtbeobachtung(v_id, tenant, reader, detail => true), '') || ']';
  select coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'stand', private.to_stand(s.id, s.xmin), 'gruende', p.gruende,
      'bestaetigungen', (select count(*) from portal.bestaetigung b where b.sichtbeobachtung_id = s.id),
      'erfahrung', private.get_erfahrung(s.nutzer_id, s.gid),
      -- Most have none: they are spared the call.
      'nachrichten', case when exists (select from portal.nachricht n where n.sichtbeobachtung_id = s.id)
        then private.list_nachricht(s.id) else '[]' end) order by o.position), '[]')
  into zeilen
  from unnest(v_id) with ordinality o (id, position)
  join portal.sichtbeobachtung s on s.id = o.id
  join portal.pruefgrund p on p.sichtbeobachtung_id = o.id;
  return next;
end
$$;
comment on function api.list_warteschlange(integer, bigint, portal.felder, boolean, portal.felder, integer) is
  'A page of what waits for this reviewer, with the reasons why each is odd';
