// Which columns of ausgabe.list_export stand in which file, and under which name (O5).

/** Terms of Darwin Core and the columns they are made of, in the order of occurrence.txt. The first names the record. */
export const occurrenceTerms = {
  occurrenceID: 'guid',
  catalogNumber: 'id',
  basisOfRecord: 'basisOfRecord',
  eventDate: 'datum',
  scientificName: 'name_wissenschaftlich',
  vernacularName: 'name_deutsch',
  kingdom: 'kingdom',
  taxonID: 'taxonID',
  individualCount: 'anzahl',
  lifeStage: 'stadium',
  behavior: 'aktivitaet',
  decimalLatitude: 'lat',
  decimalLongitude: 'lon',
  geodeticDatum: 'geodeticDatum',
  coordinateUncertaintyInMeters: 'coordinateUncertaintyInMeters',
  footprintWKT: 'zelle_wkt',
  footprintSRS: 'footprintSRS',
  countryCode: 'countryCode',
  stateProvince: 'stateProvince',
  dataGeneralizations: 'dataGeneralizations',
  informationWithheld: 'informationWithheld',
  license: 'license',
  rightsHolder: 'rightsHolder',
  datasetName: 'datasetName',
  occurrenceRemarks: 'bemerkung',
  identificationVerificationStatus: 'identificationVerificationStatus',
  modified: 'geaendert',
} as const;

/** Terms that are Dublin Core's; all others are Darwin Core's. */
const dublinCore = new Set(['license', 'rightsHolder', 'modified', 'identifier', 'type', 'format']);

/** Address of a term. */
export const toTermUri = (term: string) =>
  `${dublinCore.has(term) ? 'http://purl.org/dc/terms/' : 'http://rs.tdwg.org/dwc/terms/'}${term}`;

/** multimedia.txt (Simple Multimedia), behind the record it belongs to. */
export const multimediaTerms = ['type', 'format', 'identifier', 'license', 'rightsHolder'] as const;

/** sichtbeobachtung.csv: the columns that analysts read, in their order, the place as lon, lat and zelle_wkt. */
export const csvColumns = [
  'id',
  'guid',
  'art',
  'name_deutsch',
  'name_wissenschaftlich',
  'gid',
  'artengruppe',
  'is_animal',
  'datum',
  'jahr',
  'anzahl',
  'stadium',
  'aktivitaet',
  'bemerkung',
  'unschaerfe_m',
  'cell_x',
  'cell_y',
  'lon',
  'lat',
  'zelle_wkt',
  'phaenogramm',
  'geaendert',
] as const;

/** Attributes of the layer beobachtung, and their types in SQLite. */
export const gpkgColumns = {
  guid: 'TEXT',
  art: 'INTEGER',
  name_deutsch: 'TEXT',
  name_wissenschaftlich: 'TEXT',
  gid: 'INTEGER',
  artengruppe: 'TEXT',
  datum: 'DATE',
  jahr: 'INTEGER',
  anzahl: 'INTEGER',
  stadium: 'TEXT',
  aktivitaet: 'TEXT',
  bemerkung: 'TEXT',
  unschaerfe_m: 'INTEGER',
  cell_x: 'INTEGER',
  cell_y: 'INTEGER',
  geaendert: 'DATE',
} as const;
