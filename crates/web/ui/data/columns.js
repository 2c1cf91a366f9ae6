// The container of columns, `OSC1`: a JSON head, then arrays. A column is decoded when it is asked for.

/**
 * @param {Uint8Array} data
 * @returns {Container}
 */
export function open_columns(data) {
  const wrong = (/** @type {string} */ why) => new Error(`columns: ${why}`);
  if (data.length < 8 || String.fromCharCode(data[0], data[1], data[2], data[3]) !== "OSC1") throw wrong("no OSC1");
  const size = new DataView(data.buffer, data.byteOffset, data.byteLength).getUint32(4, true);
  if (8 + size > data.length) throw wrong("the head is cut off");
  /** @type {{ kind: string, tables: Record<string, { count: number, columns: Facts[] }> }} */
  const head = JSON.parse(new TextDecoder().decode(data.subarray(8, 8 + size)));
  const tables = new Map(Object.entries(head.tables ?? {}));
  /** @type {Map<string, Table>} */
  const open = new Map();
  return {
    kind: head.kind,
    size: data.length,
    table(name) {
      let table = open.get(name);
      if (!table) {
        const facts = tables.get(name) ?? { count: 0, columns: [] };
        if (!Number.isSafeInteger(facts.count) || facts.count < 0 || facts.count > 2 ** 28) throw wrong(`${name} can't have ${facts.count} rows`);
        table = open_table(data, name, facts.count, facts.columns);
        open.set(name, table);
      }
      return table;
    },
  };
}

/**
 * The bytes that a report holds as text: base64 of deflated columns.
 * @param {string} text
 */
export async function unpack(text) {
  const packed = atob(text.trim());
  const data = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at += 1) data[at] = packed.charCodeAt(at);
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @typedef {{ name: string, coding: string, type?: string, bytes?: number, offset: number }} Facts */

/**
 * @param {Uint8Array} data @param {string} table @param {number} count @param {Facts[]} columns
 * @returns {Table}
 */
function open_table(data, table, count, columns) {
  const facts = new Map(columns.map((it) => [it.name, it]));
  /** @type {Map<string, Numbers | string[]>} */
  const decoded = new Map();
  const column = (/** @type {string} */ name) => {
    let values = decoded.get(name);
    if (!values) {
      const it = facts.get(name);
      values = it ? decode(data, `${table}.${name}`, count, it) : new Uint8Array(count);
      decoded.set(name, values);
    }
    return values;
  };
  return {
    count,
    has: (name) => facts.has(name),
    numbers(name) {
      const values = column(name);
      if (Array.isArray(values)) throw new Error(`columns: ${table}.${name} is text`);
      return values;
    },
    texts(name) {
      if (!facts.has(name)) return new Array(count).fill("");
      const values = column(name);
      if (!Array.isArray(values)) throw new Error(`columns: ${table}.${name} is no text`);
      return values;
    },
  };
}

/** @param {Uint8Array} data @param {string} name @param {number} count @param {Facts} facts @returns {Numbers | string[]} */
function decode(data, name, count, facts) {
  const bytes = facts.coding === "text" ? Number(facts.bytes) : count * (facts.coding === "float" ? 8 : facts.coding === "plain" ? width(facts.type) : Number(facts.bytes));
  if (!Number.isSafeInteger(facts.offset) || facts.offset < 0 || !(bytes >= 0) || facts.offset + bytes > data.length) {
    throw new Error(`columns: ${name} reaches beyond the end`);
  }
  const part = data.subarray(facts.offset, facts.offset + bytes);
  switch (facts.coding) {
    case "plain": return plain(part, facts.type);
    case "whole": return whole(part, count, Number(facts.bytes));
    case "delta": return delta(part, count, Number(facts.bytes));
    case "float": return float(part, count);
    case "text": return texts(part, name, count);
    default: throw new Error(`columns: ${name} has the unknown coding ${facts.coding}`);
  }
}

/** @param {string | undefined} type */
function width(type) {
  return { u8: 1, u16: 2, u32: 4, i32: 4, f64: 8 }[type ?? ""] ?? NaN;
}

/** @param {Uint8Array} part @param {string | undefined} type @returns {Numbers} */
function plain(part, type) {
  // A view needs its alignment; what an inflated report holds has it, a cut answer may not.
  const own = part.byteOffset % 8 === 0 ? part : part.slice();
  const size = own.byteLength / width(type);
  switch (type) {
    case "u8": return own;
    case "u16": return new Uint16Array(own.buffer, own.byteOffset, size);
    case "u32": return new Uint32Array(own.buffer, own.byteOffset, size);
    case "i32": return new Int32Array(own.buffer, own.byteOffset, size);
    default: return new Float64Array(own.buffer, own.byteOffset, size);
  }
}

/** @param {Uint8Array} part @param {number} count @param {number} bytes @returns {Numbers} */
function whole(part, count, bytes) {
  if (bytes === 1) return part;
  const out = bytes === 2 ? new Uint16Array(count) : bytes <= 4 ? new Uint32Array(count) : new Float64Array(count);
  let factor = 1;
  for (let plane = 0; plane < bytes; plane += 1) {
    const at = plane * count;
    for (let row = 0; row < count; row += 1) out[row] += part[at + row] * factor;
    factor *= 256;
  }
  return out;
}

/** @param {Uint8Array} part @param {number} count @param {number} bytes @returns {Numbers} */
function delta(part, count, bytes) {
  const steps = whole(part, count, bytes);
  const out = new Float64Array(count);
  let value = 0;
  for (let row = 0; row < count; row += 1) {
    const z = steps[row];
    value += z % 2 === 1 ? -(z + 1) / 2 : z / 2;
    out[row] = value;
  }
  return out;
}

/** @param {Uint8Array} part @param {number} count */
function float(part, count) {
  const bytes = new Uint8Array(count * 8);
  for (let plane = 0; plane < 8; plane += 1) {
    for (let row = 0; row < count; row += 1) bytes[row * 8 + plane] = part[plane * count + row];
  }
  return new Float64Array(bytes.buffer);
}

/** @param {Uint8Array} part @param {string} name @param {number} count */
function texts(part, name, count) {
  const values = JSON.parse(new TextDecoder().decode(part));
  if (!Array.isArray(values) || values.length !== count) throw new Error(`columns: ${name} doesn't have ${count} texts`);
  return values.map(String);
}
