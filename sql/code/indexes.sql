-- What each index is for: the request or the rule that is slow without it. An index without such a request goes.

-- sightings, lists
comment on index portal.sichtbeobachtung_neu is 'newest page and crowded boxes of logged-in readers';
comment on index portal.sichtbeobachtung_status_shown is
  'newest page of everyone, which is that of status freigegeben; status= of logged-in readers. What follows id lets the walk through a crowded bbox= do without the records';
comment on index portal.sichtbeobachtung_shown is
  'bbox= of what nobody protects, with or without days: nearest to the greatest id inside the box. A plain index on the place made the planner sort whole boxes (503 ms instead of 1.9 for 100 km at 10 million)';
comment on index portal.sichtbeobachtung_unreleased is
  'bbox= of logged-in readers: what is published but not released. With days as in sichtbeobachtung_shown: without them a page of a 100 km box read 620 pages of it instead of 208 at 10 million';
comment on index portal.sichtbeobachtung_protected is
  'bbox=: what anybody protects, by the centre of its cell. Few records, so that the box need not be widened for all the others (10 km for logged-in readers at 10 million: 1.9 ms against 1.3)';
comment on index portal.sichtbeobachtung_datum is 'datum_von=, datum_bis= without a box';
comment on index portal.sichtbeobachtung_art is 'one species; protecting it anew';
comment on index portal.sichtbeobachtung_art_jahr is 'one species in one year';
comment on index portal.sichtbeobachtung_gruppe is 'one group of species';
comment on index portal.sichtbeobachtung_jahr is 'jahr=';
comment on index portal.sichtbeobachtung_nutzer is 'own records: bereich=privat, bereich=persoenlich';
comment on index portal.sichtbeobachtung_erfahrung is 'how many records of a group a recorder had released: queue, automatic release';
comment on index portal.mandant_sichtbeobachtung_pk is 'tenants of one record; its deletion';
comment on index portal.mandant_sichtbeobachtung_frei is
  'mandant=. Whether a record is released comes before the id: without it a page walked through an import of 200 000 records that waited for their review (44 ms at 1 million)';
comment on index portal.mandant_sichtbeobachtung_gruppe is 'mandant= with one group of species';

-- sightings, writes
comment on index portal.sichtbeobachtung_doppelt is 'the same report twice: places agree to the millimetre (D2.6)';
comment on index portal.sichtbeobachtung_zelle is 'a changed boundary: the records of its cells';
comment on index portal.sichtbeobachtung_stadium is 'deleting a stage';
comment on index portal.sichtbeobachtung_aktivitaet is 'deleting an activity';
comment on index portal.sichtbeobachtung_experte is 'deleting an account';
comment on index portal.sichtbeobachtung_foto is 'who may see a file: the one record that names it';
comment on index portal.sichtbeobachtung_foto_2 is 'as sichtbeobachtung_foto';
comment on index portal.sichtbeobachtung_foto_3 is 'as sichtbeobachtung_foto';
comment on index portal.sichtbeobachtung_biotopfoto is 'as sichtbeobachtung_foto';
comment on index portal.sichtbeobachtung_audio is 'as sichtbeobachtung_foto';

-- the feed for mirrors
comment on index portal.abgleich_stelle is 'a page of the feed: what changed behind a place';

-- what analysts are shown
comment on index portal.sichtbeobachtung_gezeigt_place is 'boxes: a map asks for its extent';
comment on index portal.sichtbeobachtung_gezeigt_art_lage is
  'one species, or those of a group, with or without days; with all that is needed to count them by squares';
comment on index portal.sichtbeobachtung_gezeigt_zelle_art is 'counts by cell, with all that they need';
comment on index portal.sichtbeobachtung_gezeigt_lage is 'pages of /ogc in a box, cell by cell';
comment on index portal.sichtbeobachtung_gezeigt_tag is
  'days and years of /ogc without a box, where few records are of them; with the stage, the curve of the year of all records (1.3 million: 0.2 s instead of 0.6)';
comment on index portal.sichtbeobachtung_gezeigt_quadrat is 'masked records of /ogc, where they are few among all';
comment on index portal.sichtbeobachtung_gezeigt_eea10 is 'counts by European squares, and whether one holds anything';
comment on index portal.sichtbeobachtung_gezeigt_tk is 'as sichtbeobachtung_gezeigt_eea10, for the TK25';
comment on index portal.raster_zelle_cell is 'cells of a box';
comment on index portal.raster_feld_xy is 'the square of a record, of a count';
comment on index portal.raster_feld_cell is 'squares of a box';

-- review
comment on index portal.pruef_zahl_pk is 'what is known of a species';
comment on index portal.pruef_zahl_offen_fort is 'whether a hint would tell of what was hidden';
comment on index portal.pruefregel_art_mandant is 'rules for a species; one for each tenant';
comment on index portal.pruefregel_mandant is 'deleting a tenant';
comment on index portal.pruefgrund_auffaelligkeit is 'waiting records, the oddest first';

-- tenants and boundaries
comment on index portal.mandant_kuerzel is 'mandant= in any case';
comment on index portal.mandant_domain_mandant is 'domains of a tenant';
comment on index portal.mandant_teil_teil is 'tenants of a point in a cell that a border crosses';
comment on index portal.mandant_teil_mandant is 'replacing a boundary';
comment on index portal.mandant_zelle_mandant is 'replacing a boundary';
comment on index portal.mandant_entwurf_teil_mandant is 'replacing a boundary';
comment on index portal.grenzlauf_gebiet_grenzlauf is 'what a run of the boundary job changed';
comment on index portal.grenzlauf_gebiet_mandant is 'deleting a tenant';

-- species
comment on index portal.art_gid is 'artengruppe_id= of species';
comment on index portal.art_eu_guid is 'eu_guid=';
comment on index portal.art_name_deutsch is 'titel_deutsch=: whole names, and patterns that begin with letters';
comment on index portal.art_name_wissenschaftlich is 'titel_wissenschaftlich=, as art_name_deutsch';
comment on index portal.art_foto_art is 'photos of a species';
comment on index portal.art_mandant_art_id is 'art_id=, which names one species within a tenant';
comment on index portal.art_mandant_legacy is 'legacy_regional_art_id=';
comment on index portal.art_mandant_name_deutsch is 'as art_name_deutsch, for names of the tenant''s own';
comment on index portal.art_mandant_name_wissenschaftlich is 'as art_name_deutsch, for names of the tenant''s own';
comment on index portal.art_mandant_sensibel is 'bbox= and mandant=: the species that the addressed tenant protects (2.5 ms without it)';
comment on index portal.art_mandant_art is 'protection of a new record: the tenants in which its species is sensitive';
comment on index portal.verwechslung_art_aid is 'deleting a species';
comment on index portal.verwechslung_foto_art is 'photos of a species that is easily confused';

-- accounts
comment on index portal.nutzer_loginname_key is 'login; one account for spellings that look the same (D3.18)';
comment on index portal.nutzer_email_key is 'lost password; one account for an address (D3.18)';
comment on index portal.nutzer_artengruppe_gid is 'experts of a group';
comment on index portal.nutzer_mandant_mandant is 'deleting a tenant';
comment on index portal.bestaetigung_experte is 'erasing an account';
comment on index portal.nutzer_link_hash is 'the link in a mail';
comment on index portal.nutzer_daten_link_hash is 'the link to the own data in a mail';
comment on index portal.token_nutzer is 'ending all access keys of an account';
comment on index portal.versuch_seit is 'sweeping old attempts';
comment on index portal.nachricht_satz is 'the thread of a record; deleting it';
comment on index portal.nachricht_nutzer is 'what an account wrote, for whoever asks for their own data; erasing it';
comment on index portal.nachricht_offen is 'questions that release 0.32 had yet to mail';
comment on index portal.mitteilung_offen_nutzer is 'what a recorder has yet to be told';
comment on index portal.mitteilung_offen_faellig is 'who is to be told of questions and decisions now';
comment on index portal.sichtbeobachtung_link_satz is 'deleting a record';
comment on index portal.sichtbeobachtung_link_nutzer is 'ending all links of an account';
comment on index portal.sichtbeobachtung_link_angelegt is 'sweeping old links';

-- change log and reviews
comment on index portal.qs_lauf is 'what a run of automatic release decided; whether one has decided on a record';
comment on index portal.protokoll_zeitpunkt is 'datum_von=, datum_bis= of /protokoll';
comment on index portal.protokoll_satz is 'gis.protokoll: what happened to one sighting; in pages, for whoever asks for their own data';
comment on index portal.qs_zeitpunkt is 'datum_von=, datum_bis= of /qs';
comment on index portal.qs_nutzer is 'uid= of /qs';
comment on index portal.qs_status is 'status_aenderung= of /qs';
comment on index portal.qs_experte is 'what an expert decided, for whoever asks for their own data';
comment on index portal.sichtbeobachtung_herkunft_quelle is 'what an import stored before, by its number in the source; keeps it unique';
comment on index portal.sichtbeobachtung_herkunft_guid is 'guid of an imported record; keeps it unique';
comment on index portal.export_ungueltig_mandant is 'whether the files of a tenant may be served';
