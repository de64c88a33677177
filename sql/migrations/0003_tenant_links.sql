-- Beside what it replaces: the code of the release before writes and reads the other table and index until sql/code is replaced,
-- which fills this one and drops those (97_existing.sql).
CREATE TABLE "portal"."mandant_sichtbeobachtung" (
	"mandant_id" integer NOT NULL,
	"sichtbeobachtung_id" bigint NOT NULL,
	"gid" integer NOT NULL,
	"exakt" boolean NOT NULL,
	"frei" boolean NOT NULL,
	CONSTRAINT "mandant_sichtbeobachtung_pk" PRIMARY KEY("sichtbeobachtung_id","mandant_id")
);
--> statement-breakpoint
CREATE INDEX "mandant_sichtbeobachtung_frei" ON "portal"."mandant_sichtbeobachtung" USING btree ("mandant_id","frei","sichtbeobachtung_id");--> statement-breakpoint
CREATE INDEX "mandant_sichtbeobachtung_gruppe" ON "portal"."mandant_sichtbeobachtung" USING btree ("mandant_id","frei","gid","sichtbeobachtung_id");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_protected" ON "portal"."sichtbeobachtung" USING gist ("raster_point","id") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich' and "portal"."sichtbeobachtung"."schutz" > 0;
