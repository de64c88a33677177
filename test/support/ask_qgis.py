# What QGIS makes of a service's features and tiles, as JSON: by the providers of the program itself, without a screen.
#   ask_qgis.py ADDRESS LEFT,BOTTOM,RIGHT,TOP     address without a path; a box in degrees (EPSG:4326)
import json
import os
import sys

os.environ["QT_QPA_PLATFORM"] = "offscreen"
from qgis.core import (
    QgsApplication,
    QgsCoordinateReferenceSystem,
    QgsCoordinateTransform,
    QgsFeatureRequest,
    QgsMapRendererParallelJob,
    QgsMapSettings,
    QgsProject,
    QgsRectangle,
    QgsVectorLayer,
    QgsVectorTileLayer,
)
from qgis.PyQt.QtCore import QSize
from qgis.PyQt.QtGui import QColor

address, box = sys.argv[1], QgsRectangle(*[float(number) for number in sys.argv[2].split(",")])
side = 256
program = QgsApplication([], False)
program.initQgis()


def read(name, key, request=QgsFeatureRequest()):
    # Pages smaller than what there is.
    layer = QgsVectorLayer(f"url='{address}/ogc' typename='{name}' pageSize='50'", name, "OAPIF")
    features = [{"id": feature[key], "place": feature.geometry().asWkt(8)} for feature in layer.getFeatures(request)]
    return {"isValid": layer.isValid(), "problem": layer.error().message(), "features": features}


def draw():
    layer = QgsVectorTileLayer(f"type=xyz&url={address}/tiles/v1/{{z}}/{{x}}/{{y}}.mvt&zmin=0&zmax=14", "tiles")
    degrees = QgsCoordinateReferenceSystem("EPSG:4326")
    settings = QgsMapSettings()
    settings.setLayers([layer])
    settings.setDestinationCrs(layer.crs())
    settings.setExtent(QgsCoordinateTransform(degrees, layer.crs(), QgsProject.instance()).transform(box))
    settings.setOutputSize(QSize(side, side))
    settings.setBackgroundColor(QColor("white"))
    job = QgsMapRendererParallelJob(settings)
    job.start()
    job.waitForFinished()
    image = job.renderedImage()
    drawn = sum(image.pixelColor(x, y) != QColor("white") for x in range(side) for y in range(side))
    return {"isValid": layer.isValid(), "drawn": drawn}


print(
    json.dumps(
        {
            "sightings": read("sichtbeobachtung", "id"),
            "inBox": read("sichtbeobachtung", "id", QgsFeatureRequest().setFilterRect(box)),
            "squares": read("raster_5km", "code"),
            "tenants": read("mandant", "kuerzel"),
            "tiles": draw(),
        }
    ),
    flush=True,
)
# Its own end, without a project and with layers of Python's, is a crash.
os._exit(0)
