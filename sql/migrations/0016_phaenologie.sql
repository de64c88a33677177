CREATE INDEX "sichtbeobachtung_gezeigt_tag" ON "portal"."sichtbeobachtung_gezeigt" USING btree ("datum","stadium_id");--> statement-breakpoint
DROP INDEX "portal"."sichtbeobachtung_gezeigt_datum";
