CREATE INDEX "sichtbeobachtung_protected" ON "portal"."sichtbeobachtung" USING gist ("raster_point","id") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich' and "portal"."sichtbeobachtung"."schutz" > 0;--> statement-breakpoint
DROP INDEX "portal"."sichtbeobachtung_raster";
