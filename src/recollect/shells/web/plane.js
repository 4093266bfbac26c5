// Draws the points of the map on a canvas, finds the one under the pointer, and moves what is in sight.

const MARGIN = 24; // pixels
const REACH = 14; // pixels between the pointer and a point that counts as pointed at

const MOST_ZOOM = 20;

// What is in sight: how many times larger than the whole map, around which place of it.
export function fullView() {
  return { zoom: 1, x: null, y: null };
}

// Zooms by a factor; the place at these pixels stays where it is.
export function zoomed(view, plane, factor, [atX, atY]) {
  const zoom = Math.min(MOST_ZOOM, Math.max(1, view.zoom * factor));
  if (zoom === 1) return fullView();
  const [x, y] = plane.from(atX, atY);
  const change = view.zoom / zoom;
  return { zoom, x: x + (plane.middle[0] - x) * change, y: y + (plane.middle[1] - y) * change };
}

export function moved(view, plane, byX, byY) {
  if (view.zoom === 1) return view;
  const [x, y] = plane.from(plane.width / 2 - byX, plane.height / 2 - byY);
  return { ...view, x, y };
}

// Where points are on the canvas: one scale for both axes keeps distances comparable.
export function projection(canvas, { points, query }, view) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const all = query ? [...points, query] : points;
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const { x, y } of all) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    low = Math.min(low, y);
    high = Math.max(high, y);
  }
  const scale = view.zoom * Math.min(
    (width - 2 * MARGIN) / (right - left || 1), (height - 2 * MARGIN) / (high - low || 1),
  );
  const middleX = view.x ?? (left + right) / 2;
  const middleY = view.y ?? (low + high) / 2;
  return {
    ratio, width, height, middle: [middleX, middleY],
    at: ({ x, y }) => [width / 2 + (x - middleX) * scale, height / 2 - (y - middleY) * scale],
    from: (x, y) => [middleX + (x - width / 2) / scale, middleY - (y - height / 2) / scale],
  };
}

export function draw(canvas, plane, { points, query, nearest }, { colourOf, highlighted }) {
  const context = canvas.getContext("2d");
  const ink = getComputedStyle(canvas).color;
  context.setTransform(plane.ratio, 0, 0, plane.ratio, 0, 0);
  context.clearRect(0, 0, plane.width, plane.height);
  const radius = points.length > 2000 ? 1.8 : points.length > 500 ? 2.6 : 3.6;
  context.globalAlpha = query ? 0.4 : 0.75;
  for (const point of points) dot(context, plane.at(point), radius, colourOf(point));
  context.globalAlpha = 1;
  if (query) {
    const [x, y] = plane.at(query);
    context.strokeStyle = ink;
    context.lineWidth = 1;
    nearest.forEach((place, rank) => {
      const at = plane.at(points[place]);
      context.globalAlpha = 0.55 - 0.04 * rank;
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(...at);
      context.stroke();
      context.globalAlpha = 1;
      dot(context, at, radius + 1.6, colourOf(points[place]));
    });
    context.lineWidth = 2.5;
    context.beginPath();
    context.moveTo(x - 8, y);
    context.lineTo(x + 8, y);
    context.moveTo(x, y - 8);
    context.lineTo(x, y + 8);
    context.stroke();
  }
  if (points[highlighted]) {
    const at = plane.at(points[highlighted]);
    dot(context, at, radius + 2, colourOf(points[highlighted]));
    context.strokeStyle = ink;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(...at, radius + 5, 0, 2 * Math.PI);
    context.stroke();
  }
}

function dot(context, [x, y], radius, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

// The index of the point nearest to the pointer, or -1 if none is near.
export function pick(plane, points, x, y) {
  let best = -1;
  let least = REACH * REACH;
  points.forEach((point, place) => {
    const [ownX, ownY] = plane.at(point);
    const distance = (ownX - x) ** 2 + (ownY - y) ** 2;
    if (distance < least) {
      least = distance;
      best = place;
    }
  });
  return best;
}
