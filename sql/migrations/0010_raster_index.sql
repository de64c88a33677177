-- By themselves, because an index of a large table is made while others write, and needs columns that are there.
CREATE INDEX "sichtbeobachtung_gezeigt_art_lage" ON "portal"."sichtbeobachtung_gezeigt" USING btree ("art","datum","unschaerfe_m","cell_x","cell_y","eea10","tk");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_gezeigt_zelle_art" ON "portal"."sichtbeobachtung_gezeigt" USING btree ("cell_x","cell_y","art","datum","unschaerfe_m");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_gezeigt_eea10" ON "portal"."sichtbeobachtung_gezeigt" USING btree ("eea10","art","datum","unschaerfe_m");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_gezeigt_tk" ON "portal"."sichtbeobachtung_gezeigt" USING btree ("tk","art","datum","unschaerfe_m");--> statement-breakpoint
DROP INDEX "portal"."sichtbeobachtung_gezeigt_art";--> statement-breakpoint
DROP INDEX "portal"."sichtbeobachtung_gezeigt_zelle";
