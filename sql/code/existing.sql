-- What a database lacks that had sightings before it had these tables. The triggers are in place already, in this transaction:
-- nobody writes meanwhile.
do $$
begin
  if not exists (select from portal.raster_zelle) then
    -- By the trigger.
    update portal.installation set x_min = x_min;
  end if;
  -- What was there before the feed for mirrors stands at its beginning.
  if not exists (select from portal.abgleich_verlauf) then
    perform private.set_verlauf();
    insert into portal.abgleich_block (stelle, von, bis)
    select 0, 1, max(s.id) from portal.sichtbeobachtung s having max(s.id) is not null;
  end if;
  perform private.set_art_platz();
  -- Counted by the job, and until then by who asks for a tile.
  if not exists (select from portal.raster_grob) then
    insert into portal.raster_grob (stufe, x, y)
    select distinct s.stufe, k.x >> s.stufe, k.y >> s.stufe
    from portal.raster_zahl k cross join generate_series(0, 9) s (stufe) where k.gitter = '5km';
  end if;
  if not exists (select from portal.sichtbeobachtung_gezeigt) then
    perform private.set_gezeigt_all();
    -- Then the rest was found with them. Else it is done afterwards, in small steps (api.set_raster_lage).
    update portal.installation set has_raster_lage = true;
  end if;
  -- Else counted afterwards (api.set_pruef_zahl_aller).
  if not exists (select from portal.sichtbeobachtung_gezeigt) then
    update portal.installation set has_pruef_zahl = true where not has_pruef_zahl;
    if not exists (select from portal.pruefgrund) then
      insert into portal.pruefgrund_offen (sichtbeobachtung_id)
      select s.id from portal.sichtbeobachtung s where s.bereich = 'oeffentlich' and s.status = 'pruefung';
    end if;
  end if;
  -- Questions that release 0.32 had yet to mail.
  perform private.set_mitteilung_offen(s, 'sofort')
  from portal.nachricht n
  join portal.sichtbeobachtung s on s.id = n.sichtbeobachtung_id
  where n.offen and private.get_frage(s) is not null;
  update portal.nachricht n set offen = false where n.offen;
  -- Up to 0003 another table held the links of tenants. With links in it, it goes when this file is applied once more, because to drop
  -- it shuts out readers: not for as long as this transaction takes.
  if to_regclass('portal.sichtbeobachtung_mandant') is not null then
    if exists (select from portal.sichtbeobachtung_mandant) and not exists (select from portal.mandant_sichtbeobachtung) then
      insert into portal.mandant_sichtbeobachtung (mandant_id, sichtbeobachtung_id, gid, exakt, frei)
      select l.mandant_id, l.sichtbeobachtung_id, l.gid, l.exakt, private.is_shown_to_all(s.bereich, s.status)
      from portal.sichtbeobachtung_mandant l
      join portal.sichtbeobachtung s on s.id = l.sichtbeobachtung_id;
    else
      drop table portal.sichtbeobachtung_mandant;
      drop index if exists portal.sichtbeobachtung_raster;
    end if;
  end if;
end
$$;
