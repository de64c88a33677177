-- Why a record is odd (O6.2): compared with what is released of its species, and with the rules of experts.

-- Records of a count.
--   nur_offene  only those that nobody protects
--   selbst      the record that is asked about is one of them, and does not count
create or replace function private.to_zahl(meldungen integer, offene integer, nur_offene boolean, selbst boolean)
  returns integer
  language sql
  immutable
  parallel safe
as $$
  select case when nur_offene then offene else meldungen end - selbst::integer
$$;

-- example  private.to_drittel_name(13)  ->  Mitte Mai
create or replace function private.to_drittel_name(drittel integer)
  returns text
  language sql
  immutable
  parallel safe
as $$
  select (array['Anfang', 'Mitte', 'Ende'])[drittel % 3 + 1] || ' ' || (array[
    'Januar', 'Februar', 'März', 'April', 'Mai', 'Juni', 'Juli', 'August', 'September', 'Oktober', 'November', 'Dezember'])[drittel / 3 + 1]
$$;

-- Why a record is odd; no row: nothing is.
--   art … aktivitaet_id  of the record, mandanten the tenants it belongs to; point EPSG:25832
--   nur_offene           compared with what everybody may know: records that nobody protects
--   gezaehlt             it is released, and among what it is compared with
-- returns                  gewicht: how odd this is, 1 to 4
create or replace function private.list_pruefgrund(
  art integer, point public.geometry, mandanten integer[], datum date, anzahl integer, stadium_id integer, aktivitaet_id integer,
  nur_offene boolean, gezaehlt boolean default false)
  returns table (code text, text text, werte jsonb, gewicht integer)
  language plpgsql
  stable
  rows 3
as $$
#variable_conflict use_column
declare
  v_least constant integer := 20;
  v_far_km constant float8 := 20;
  v_easting constant float8 := public.st_x(point);
  v_northing constant float8 := public.st_y(point);
  v_cell_x constant integer := private.to_cell(v_easting);
  v_cell_y constant integer := private.to_cell(v_northing);
  v_drittel constant integer := private.to_drittel(list_pruefgrund.datum);
  -- this third and its neighbours, over the end of the year
  v_saison constant integer[] := array[(v_drittel + 35) % 36, v_drittel, (v_drittel + 1) % 36];
  v_regel portal.pruefregel;
  -- what a rule has spoken of is not judged by what was learned
  v_zeit boolean := false;
  v_hoechstzahl boolean := false;
  v_gebiet boolean := false;
  v_meldungen integer;
  v_in_saison integer;
  -- km
  v_umkreis integer;
  v_abstand float8;
  v_km integer;
  v_grenze integer;
  v_merkmal portal.merkmal;
  v_id integer;
  v_name text;
  v_namen text[];
begin
  for v_regel in select r.* from private.list_pruefregel(list_pruefgrund.art, list_pruefgrund.mandanten) r loop
    if v_regel.von is not null then
      v_zeit := true;
      if (v_drittel - private.to_drittel_of(v_regel.von) + 36) % 36
        > (private.to_drittel_of(v_regel.bis) - private.to_drittel_of(v_regel.von) + 36) % 36 then
        return query select 'regel',
          format('Nach der Regel für diese Art nur von %s bis %s zu erwarten',
            private.to_drittel_name(private.to_drittel_of(v_regel.von)), private.to_drittel_name(private.to_drittel_of(v_regel.bis))),
          jsonb_build_object('von', v_regel.von, 'bis', v_regel.bis), 4;
      end if;
    end if;
    if v_regel.anzahl_max is not null then
      v_hoechstzahl := true;
      if list_pruefgrund.anzahl > v_regel.anzahl_max then
        return query select 'regel', format('Nach der Regel für diese Art höchstens %s Individuen zu erwarten', v_regel.anzahl_max),
          jsonb_build_object('anzahl_max', v_regel.anzahl_max), 4;
      end if;
    end if;
    -- A region that an expert drew for a sensitive species may say where to look for it.
    if v_regel.gebiet is not null
      and not (nur_offene and exists (select from portal.art_mandant am where am.art = list_pruefgrund.art and am.sensibel)) then
      v_gebiet := true;
      if not public.st_intersects(v_regel.gebiet, ausgabe.to_lonlat(point)) then
        return query select 'regel', 'Außerhalb des Gebiets, in dem die Art nach ihrer Regel zu erwarten ist', jsonb_build_object('gebiet', false), 4;
      end if;
    end if;
  end loop;

  select coalesce(sum(k.zahl), 0), coalesce(sum(k.zahl) filter (where k.x = any (v_saison)), 0) into v_meldungen, v_in_saison
  from (
    select z.x, private.to_zahl(z.meldungen, z.offene, nur_offene, gezaehlt and z.x = v_drittel) as zahl
    from portal.pruef_zahl z
    where z.art = list_pruefgrund.art and z.merkmal = 'drittel'
  ) k;
  if v_meldungen < v_least then
    return query select 'zu_wenige_vergleiche', format('Zu wenige Vergleiche (freigegebene Meldungen dieser Art: %s)', v_meldungen),
      jsonb_build_object('meldungen', v_meldungen), 1;
    return;
  end if;

  -- Of most records the own cell or one beside it is known.
  if not v_gebiet and not exists (
    select from portal.pruef_zahl z
    where z.art = list_pruefgrund.art and z.merkmal = 'zelle' and z.x = any (array[v_cell_x - 1, v_cell_x, v_cell_x + 1])
      and z.y between v_cell_y - 1 and v_cell_y + 1
      and private.to_zahl(z.meldungen, z.offene, nur_offene, gezaehlt and z.x = v_cell_x and z.y = v_cell_y) > 0)
  then
    -- To the square, not to a record: of a protected one nobody learns more than its cell. The own record's cell would be at no distance.
    -- First among the cells around, then among all: of widespread species there are thousands.
    foreach v_umkreis in array array[25, 5000000] loop
      select min(private.to_cell_distance(z.x, z.y, v_easting, v_northing)) into v_abstand
      from portal.pruef_zahl z
      where z.art = list_pruefgrund.art and z.merkmal = 'zelle' and (z.x, z.y) <> (v_cell_x, v_cell_y)
        and z.x between v_cell_x - v_umkreis / 5 and v_cell_x + v_umkreis / 5 and z.y between v_cell_y - v_umkreis / 5 and v_cell_y + v_umkreis / 5
        and private.to_zahl(z.meldungen, z.offene, nur_offene, false) > 0;
      exit when v_abstand <= 1000.0 * v_umkreis;
    end loop;
    v_km := round(v_abstand / 1000);
    if v_km > v_far_km then
      return query select 'entfernung', format('%s km vom nächsten bekannten Vorkommen entfernt', v_km), jsonb_build_object('km', v_km), 3;
    else
      return query select 'erste_in_zelle', format('Erste Meldung in dieser Rasterzelle und denen daneben, %s km vom nächsten bekannten Vorkommen', v_km),
        jsonb_build_object('km', v_km), 1;
    end if;
  end if;
  -- Whoever has the own cell has been seen in all tenants of the place. A tenant's cells, border ones included, because of a protected
  -- record nobody learns on which side it lies.
  if not v_gebiet and not exists (
    select from portal.pruef_zahl z
    where z.art = list_pruefgrund.art and z.merkmal = 'zelle' and z.x = v_cell_x and z.y = v_cell_y
      and private.to_zahl(z.meldungen, z.offene, nur_offene, gezaehlt) > 0)
  then
    v_namen := array(
      select m.name
      from portal.mandant m
      where m.id = any (list_pruefgrund.mandanten) and not exists (
        select
        from portal.pruef_zahl z
        join portal.mandant_zelle mz on mz.cell_x = z.x and mz.cell_y = z.y and mz.mandant_id = m.id
        where z.art = list_pruefgrund.art and z.merkmal = 'zelle' and (z.x, z.y) <> (v_cell_x, v_cell_y)
          and private.to_zahl(z.meldungen, z.offene, nur_offene, false) > 0)
      order by m.id);
    if v_namen <> '{}' then
      return query select 'erste_im_mandant', format('Erste Meldung dieser Art in %s', array_to_string(v_namen, ' und ')),
        jsonb_build_object('mandanten', v_namen), 2;
    end if;
  end if;

  if not v_zeit and v_in_saison < 0.01 * v_meldungen then
    return query select 'jahreszeit',
      case v_in_saison when 0 then format('Zu dieser Jahreszeit (%s) noch nie gemeldet', private.to_drittel_name(v_drittel))
      else format('Nur %s %% der Meldungen sind aus dieser Jahreszeit (%s)',
        replace(round(100.0 * v_in_saison / v_meldungen, 2)::text, '.', ','), private.to_drittel_name(v_drittel)) end,
      jsonb_build_object('anteil', round(v_in_saison::numeric / v_meldungen, 4)), 3;
  end if;

  if not v_hoechstzahl and list_pruefgrund.anzahl > 1 then
    select min(k.x) into v_grenze
    from (
      select z.x, sum(private.to_zahl(z.meldungen, z.offene, nur_offene, gezaehlt and z.x = list_pruefgrund.anzahl)) over (order by z.x) as bis
      from portal.pruef_zahl z
      where z.art = list_pruefgrund.art and z.merkmal = 'anzahl'
    ) k
    where k.bis >= 0.99 * v_meldungen;
    if list_pruefgrund.anzahl > v_grenze then
      return query select 'anzahl_hoch',
        format('%s Individuen: 99 %% der Meldungen nennen höchstens %s', list_pruefgrund.anzahl, v_grenze), jsonb_build_object('grenze', v_grenze), 2;
    end if;
  end if;

  for v_merkmal, v_id, v_name in
    select 'stadium'::portal.merkmal, s.id, s.name from portal.stadium s where s.id = list_pruefgrund.stadium_id
    union all
    select 'aktivitaet', a.id, a.name from portal.aktivitaet a where a.id = list_pruefgrund.aktivitaet_id
  loop
    -- Where nothing at all was seen at that time, the season says it.
    if v_in_saison > 0
      and not exists (
        select from portal.pruef_zahl z
        where z.art = list_pruefgrund.art and z.merkmal = v_merkmal and z.x = v_id and z.y = any (v_saison)
          and private.to_zahl(z.meldungen, z.offene, nur_offene, gezaehlt and z.y = v_drittel) > 0)
      and v_least <= (
        select sum(private.to_zahl(z.meldungen, z.offene, nur_offene, gezaehlt and z.x = v_id and z.y = v_drittel))
        from portal.pruef_zahl z
        where z.art = list_pruefgrund.art and z.merkmal = v_merkmal)
    then
      return query select 'stadium_unmoeglich',
        format('%s „%s“ zu dieser Jahreszeit (%s) noch nie gemeldet',
          case v_merkmal when 'stadium' then 'Stadium' else 'Aktivität' end, v_name, private.to_drittel_name(v_drittel)),
        jsonb_build_object(v_merkmal || '_id', v_id), 3;
    end if;
  end loop;

  v_namen := array(
    select coalesce(a.name_deutsch, a.name_wissenschaftlich)
    from portal.verwechslung_art k
    join portal.art a on a.id = k.aid
    where k.art = list_pruefgrund.art
    order by 1);
  if v_namen <> '{}' then
    return query select 'verwechslung', format('Wird leicht verwechselt mit: %s', array_to_string(v_namen, ', ')),
      jsonb_build_object('arten', v_namen), 1;
  end if;
end
$$;
