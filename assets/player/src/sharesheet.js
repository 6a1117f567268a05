// The refused guesses as CSV and JSON. Their rows come with the payload, made by the code that writes
// the same files on the command line; only numbers and quotes are written here, in the same way.
import { facts } from "./share.js";

/** A number with a fraction as Python writes it. */
function float(value) {
  if (Number.isInteger(value)) return value < 1e16 ? `${value}.0` : value.toExponential();
  if (Math.abs(value) >= 1e-4) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

function cell(value, isFloat) {
  if (value === null) return "";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return isFloat ? float(value) : String(value);
  // A spreadsheet would run a cell that begins like a formula.
  const text = /^[=+\-@]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** All refused guesses under a header line. */
export function toCsv({ columns, floats, rows }) {
  const fractions = new Set(floats);
  const lines = rows.map((row) => row.map((v, i) => cell(v, fractions.has(columns[i]))).join(","));
  return `${[columns.join(","), ...lines].join("\n")}\n`;
}

/** The run's facts and all refused guesses as objects. */
export function toJson(model, { columns, rows }) {
  const rejects = rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
  return `${JSON.stringify({ ...facts(model), rejects }, null, 1)}\n`;
}
