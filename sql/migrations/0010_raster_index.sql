-- By themselves, because an index of a large table is made while others write, and needs columns that are there.
CREATE INDEX "sichtbeobachtung_gezeigt_art_lage" ON "portal"."sichtbeobachtung_gezeigt" USING btree ("art","datum","unschaerfe_m","cell_x","cell_y","eea10","tk");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_gezeigt_eea10" ON "portal"."sichtbeobachtung_gezeigt" USING btree ("eea10");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_gezeigt_tk" ON "portal"."sichtbeobachtung_gezeigt" USING btree ("tk");--> statement-breakpoint
DROP INDEX "portal"."sichtbeobachtung_gezeigt_art";
