// Draws the points of the map on a canvas, and finds the one under the pointer.

const MARGIN = 24; // pixels
const REACH = 14; // pixels between the pointer and a point that counts as pointed at

// Where points are on the canvas: one scale for both axes keeps distances comparable.
export function projection(canvas, { points, query }) {
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
  const scale = Math.min(
    (width - 2 * MARGIN) / (right - left || 1), (height - 2 * MARGIN) / (high - low || 1),
  );
  const middleX = (left + right) / 2;
  const middleY = (low + high) / 2;
  return {
    ratio, width, height,
    at: ({ x, y }) => [width / 2 + (x - middleX) * scale, height / 2 - (y - middleY) * scale],
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
