// The tables of schema `portal`. `npm run generate` turns a change here into a migration in sql/migrations.
// Functions and triggers are not declared here: they live in sql/code and are replaced at every migrate, as does what each index
// is for (indexes.sql).

export * from './schema/abgleich.ts';
export * from './schema/art.ts';
export * from './schema/common.ts';
export * from './schema/export.ts';
export * from './schema/gezeigt.ts';
export * from './schema/mandant.ts';
export * from './schema/mitteilung.ts';
export * from './schema/nutzer.ts';
export * from './schema/protokoll.ts';
export * from './schema/pruefung.ts';
export * from './schema/raster.ts';
export * from './schema/sichtbeobachtung.ts';
