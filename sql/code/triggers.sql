-- Every trigger, so that what happens on a write is read on one screen. The numbers are the firing order.
-- Row level: a row's own columns. Statement level with transition tables: everything else, so that bulk work is set-based.

-- tenants
create or replace trigger _100_catalogue_lock before insert or update or delete on portal.mandant
  for each statement execute function private.catalogue_before_write();
create or replace trigger _150_quelle before update on portal.mandant
  for each row execute function private.mandant_before_update();
create or replace trigger _200_derive_insert after insert on portal.mandant
  referencing new table as new_row
  for each statement execute function private.mandant_after_insert();
create or replace trigger _200_derive_update after update on portal.mandant
  referencing old table as old_row new table as new_row
  for each statement execute function private.mandant_after_update();
create or replace trigger _200_derive_delete before delete on portal.mandant
  for each row execute function private.mandant_before_delete();
create or replace trigger _050_no_truncate before truncate on portal.mandant
  for each statement execute function private.mandant_before_truncate();
create or replace trigger _200_derive_truncate after truncate on portal.mandant
  for each statement execute function private.mandant_after_truncate();

-- species
create or replace trigger _100_catalogue_lock before insert or update or delete on portal.art
  for each statement execute function private.catalogue_before_write();
create or replace trigger _200_platz after insert on portal.art
  referencing new table as new_row
  for each statement execute function private.art_after_insert();
create or replace trigger _200_gruppe after update on portal.art
  referencing old table as old_row new table as new_row
  for each statement execute function private.art_after_update();
create or replace trigger _200_abgleich after update on portal.artengruppe
  referencing old table as old_row new table as new_row
  for each statement execute function private.artengruppe_after_update();
create or replace trigger _200_abgleich after update on portal.stadium
  referencing old table as old_row new table as new_row
  for each statement execute function private.stadium_after_update();
create or replace trigger _100_catalogue_lock before insert or update or delete on portal.art_mandant
  for each statement execute function private.catalogue_before_write();
create or replace trigger _150_json before insert or update on portal.art_mandant
  for each row execute function private.art_mandant_before_write();
create or replace trigger _200_schutz_insert after insert on portal.art_mandant
  referencing new table as new_row
  for each statement execute function private.art_mandant_after_write();
create or replace trigger _200_schutz_update after update on portal.art_mandant
  referencing old table as old_row new table as new_row
  for each statement execute function private.art_mandant_after_write();
create or replace trigger _200_schutz_delete after delete on portal.art_mandant
  referencing old table as old_row
  for each statement execute function private.art_mandant_after_write();

-- accounts
create or replace trigger _100_key before insert or update on portal.nutzer
  for each row execute function private.nutzer_before_write();
create or replace trigger _200_token after update on portal.nutzer
  for each row execute function private.nutzer_after_update();

create or replace trigger _300_medium after update on portal.nutzer
  for each row
  when ((old.medien_lizenz, old.vorname, old.nachname, old.anonymisiert)
    is distinct from (new.medien_lizenz, new.vorname, new.nachname, new.anonymisiert))
  execute function private.nutzer_after_update_medium();

-- sightings
-- Before any row is locked: an import holds the catalogue lock and then wants rows; the other way round would be a deadlock.
create or replace trigger _050_catalogue_lock before insert or update or delete on portal.sichtbeobachtung
  for each statement execute function private.sichtbeobachtung_before_statement();
create or replace trigger _050_no_truncate before truncate on portal.sichtbeobachtung
  for each statement execute function private.sichtbeobachtung_before_truncate();
create or replace trigger _100_derive before update on portal.sichtbeobachtung
  for each row execute function private.sichtbeobachtung_before_write();
-- An import has derived them of many rows at once. Whoever says so and has not, stores nothing: derived columns may not be null.
create or replace trigger _100_derive_insert before insert on portal.sichtbeobachtung
  for each row
  when (pg_catalog.current_setting('portal.abgeleitet', true) is distinct from 'import')
  execute function private.sichtbeobachtung_before_write();
create or replace trigger _200_mandant_insert after insert on portal.sichtbeobachtung
  referencing new table as new_row
  for each statement execute function private.sichtbeobachtung_mandant_after_write();
create or replace trigger _200_mandant_update after update on portal.sichtbeobachtung
  referencing old table as old_row new table as new_row
  for each statement execute function private.sichtbeobachtung_mandant_after_write();
create or replace trigger _200_mandant_delete after delete on portal.sichtbeobachtung
  referencing old table as old_row
  for each statement execute function private.sichtbeobachtung_mandant_after_write();
create or replace trigger _300_protokoll_insert after insert on portal.sichtbeobachtung
  referencing new table as new_row
  for each statement execute function private.protokoll_after_write();
create or replace trigger _300_protokoll_update after update on portal.sichtbeobachtung
  referencing old table as old_row new table as new_row
  for each statement execute function private.protokoll_after_write();
create or replace trigger _300_protokoll_delete after delete on portal.sichtbeobachtung
  referencing old table as old_row
  for each statement execute function private.protokoll_after_write();
create or replace trigger _400_qs_insert after insert on portal.sichtbeobachtung
  referencing new table as new_row
  for each statement execute function private.qs_after_write();
create or replace trigger _400_qs_update after update on portal.sichtbeobachtung
  referencing old table as old_row new table as new_row
  for each statement execute function private.qs_after_write();
-- Not at an insert: what an import brings was decided elsewhere.
create or replace trigger _450_mitteilung after update on portal.sichtbeobachtung
  for each row
  when (new.status <> old.status and new.status <> 'pruefung' and new.bereich = 'oeffentlich')
  execute function private.sichtbeobachtung_after_decision();
create or replace trigger _500_medium_update after update on portal.sichtbeobachtung
  for each row
  when ((old.foto, old.foto_2, old.foto_3, old.biotopfoto, old.audio)
    is distinct from (new.foto, new.foto_2, new.foto_3, new.biotopfoto, new.audio))
  execute function private.sichtbeobachtung_medium_after_write();
create or replace trigger _500_medium_delete after delete on portal.sichtbeobachtung
  for each row
  when (coalesce(old.foto, old.foto_2, old.foto_3, old.biotopfoto, old.audio) is not null)
  execute function private.sichtbeobachtung_medium_after_write();
create or replace trigger _600_gezeigt_insert after insert on portal.sichtbeobachtung
  referencing new table as new_row
  for each statement execute function private.gezeigt_after_write();
create or replace trigger _600_gezeigt_update after update on portal.sichtbeobachtung
  referencing old table as old_row new table as new_row
  for each statement execute function private.gezeigt_after_write();
create or replace trigger _600_gezeigt_delete after delete on portal.sichtbeobachtung
  referencing old table as old_row
  for each statement execute function private.gezeigt_after_write();
create or replace trigger _650_pruefgrund_insert after insert on portal.sichtbeobachtung
  referencing new table as new_row
  for each statement execute function private.pruefgrund_after_write();
create or replace trigger _650_pruefgrund_update after update on portal.sichtbeobachtung
  referencing old table as old_row new table as new_row
  for each statement execute function private.pruefgrund_after_write();
create or replace trigger _700_abgleich_insert after insert on portal.sichtbeobachtung
  referencing new table as new_row
  for each statement execute function private.abgleich_after_write();
create or replace trigger _700_abgleich_update after update on portal.sichtbeobachtung
  referencing old table as old_row new table as new_row
  for each statement execute function private.abgleich_after_write();
-- Under the name of the one whose place it took: to drop a trigger shuts out readers until the upgrade is committed.
create or replace trigger _900_stand after delete on portal.sichtbeobachtung
  referencing old table as old_row
  for each statement execute function private.abgleich_after_write();

-- released sightings, as analysts see them: counts for the review
create or replace trigger _200_pruef_zahl_insert after insert on portal.sichtbeobachtung_gezeigt
  referencing new table as new_row
  for each statement execute function private.pruef_zahl_after_write();
create or replace trigger _200_pruef_zahl_update after update on portal.sichtbeobachtung_gezeigt
  referencing old table as old_row new table as new_row
  for each statement execute function private.pruef_zahl_after_write();
create or replace trigger _200_pruef_zahl_delete after delete on portal.sichtbeobachtung_gezeigt
  referencing old table as old_row
  for each statement execute function private.pruef_zahl_after_write();

-- the grid that analysts count by
create or replace trigger _200_raster after insert or update of x_min, y_min, x_max, y_max on portal.installation
  for each statement execute function private.installation_after_write();

-- the versions of what anonymous readers may see and of the change log; of sightings private.set_abgleich counts what they are shown
do $$
declare
  v_table text;
begin
  foreach v_table in array array[
    'mandant', 'artengruppe', 'art', 'art_mandant', 'art_foto', 'verwechslung', 'verwechslung_art', 'verwechslung_foto', 'stadium', 'aktivitaet']
  loop
    execute format(
      'create or replace trigger _900_stand after insert or update or delete or truncate on portal.%I '
      'for each statement execute function private.count_change()', v_table);
  end loop;
end
$$;
create or replace trigger _900_stand after insert on portal.protokoll
  referencing new table as changed
  for each statement execute function private.count_protokoll();
create or replace trigger _900_stand_delete after delete on portal.protokoll
  referencing old table as changed
  for each statement execute function private.count_protokoll();
create or replace trigger _900_stand_truncate after truncate on portal.protokoll
  for each statement execute function private.count_protokoll();
