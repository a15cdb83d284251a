"""Shapes that fill a part of a picture: an area within a line, and a dot."""

from dataclasses import dataclass

from .drawing import Canvas, Point, Shape, coloured, element, number


@dataclass(frozen=True)
class Area(Shape):
    """What lies within a line through several points, and from the last back to the first."""

    points: tuple[Point, ...]
    fill: str
    title: str = ""

    def svg(self) -> str:
        points = " ".join(f"{number(x)},{number(y)}" for x, y in self.points)
        marks = f'points="{points}"' + coloured(fill=self.fill)
        return element("polygon", marks, title=self.title)

    def paint(self, canvas: Canvas) -> None:
        corners = [part * canvas.scale for point in self.points for part in point]
        canvas.brush.polygon(corners, fill=self.fill)


@dataclass(frozen=True)
class Dot(Shape):
    """A disc around a point, with a thin rim that sets it off from what lies below."""

    place: Point
    radius: float
    fill: str
    rim: str
    title: str = ""

    def svg(self) -> str:
        x, y = map(number, self.place)
        marks = f'cx="{x}" cy="{y}" r="{number(self.radius)}"'
        marks += coloured(fill=self.fill, stroke=self.rim) + ' stroke-width="1"'
        return element("circle", marks, title=self.title)

    def paint(self, canvas: Canvas) -> None:
        (x, y), scale = self.place, canvas.scale
        for reach, colour in ((self.radius + 0.5, self.rim), (self.radius - 0.5, self.fill)):
            box = x - reach, y - reach, x + reach, y + reach
            canvas.brush.ellipse([part * scale for part in box], fill=colour)
