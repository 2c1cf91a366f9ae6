// The page that the program carries has other names than its modules, and is the same otherwise: both are parsed
// by TypeScript, whose checker says which variable each name means.
import test from "node:test";
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import ts from "typescript";
import { link, PAGES, UI } from "../link.mjs";
import { shipped } from "../shipped.mjs";

/** The keys of a page's texts. */
const texts_of = (page) => new Set([...fs.readFileSync(path.join(UI, PAGES[page].texts, "en.js"), "utf8").matchAll(/(\w+): "/g)].map((it) => it[1]));
const skip = process.env.OPSCOPE ? false : "no program: name one in OPSCOPE";

// A page, and the least numbers of its short keys and of its variables' places: fewer would mean that little was compared.
for (const [page, keys_at_least, places_at_least] of [["profile", 100, 10_000], ["ranks", 100, 5_000]]) {
  test(`short names of the page of ${page} mean the variables that the modules' own names mean`, { skip }, () => {
    const texts = texts_of(page);
    const short = meanings(shipped(page).script);
    const { parts: own, names } = with_short_keys(meanings(link(page)), short, texts);
    // A text that has a short key is asked for by no other, and no key is another text's.
    const after = (/** @type {string} */ part) => part.slice(part.indexOf(" ") + 1);
    const is_text = (/** @type {number} */ at) => own[at - 1]?.startsWith("member ") && [texts, new Set(names.values())].some((it) => it.has(after(own[at - 1])));
    const keys = [...own.keys()].filter((at) => own[at].startsWith(`${ts.SyntaxKind.StringLiteral} `) && !is_text(at)).map((at) => after(own[at]));
    assert.deepEqual(keys.filter((it) => names.has(it)), []);
    assert.ok(names.size > keys_at_least && new Set([...names.values(), ...texts]).size === names.size + texts.size, `${names.size} keys`);
    const at = own.findIndex((it, place) => it !== short[place]);
    const context = (all) => all.slice(Math.max(0, at - 6), at + 4).join(" ");
    assert.ok(at < 0 && own.length === short.length, `${context(own)}\nbecame\n${context(short)}`);
    assert.ok(own.filter((it) => it.startsWith("variable")).length > places_at_least);
  });
}

test("a name that is taken for another is found", () => {
  const of = (text) => meanings(`(() => { ${text} })();`);
  assert.deepEqual(of("const one = 1; const f = ({ two }) => one + two;"), of("const b = 1; const a = ({ two: c }) => b + c;"));
  for (const wrong of ["const b = 1; const a = ({ two: b }) => b + b;", "const b = 1; const a = ({ c }) => b + c;", "const b = 1; const a = ({ two: c }) => b + d;"]) {
    assert.notDeepEqual(of("const one = 1; const f = ({ two }) => one + two;"), of(wrong), wrong);
  }
});

/**
 * The parts of a script in which texts have the keys of another one, where they have others there, and which these are.
 * @param {string[]} own @param {string[]} short @param {Set<string>} texts
 */
function with_short_keys(own, short, texts) {
  const names = new Map();
  const parts = own.map((it, at) => {
    const [kind, key] = [it.slice(0, it.indexOf(" ")), it.slice(it.indexOf(" ") + 1)];
    if (it === short[at] || !texts.has(key) || !short[at]?.startsWith(`${kind} `)) return it;
    const name = short[at].slice(kind.length + 1);
    if (!names.has(key)) names.set(key, name);
    return `${kind} ${names.get(key)}`;
  });
  return { parts, names };
}

/** The parts of a script, its variables by the order in which they appear. @param {string} text @returns {string[]} */
function meanings(text) {
  const file = ts.createSourceFile("page.js", text, ts.ScriptTarget.ES2022, true, ts.ScriptKind.JS);
  const host = {
    getSourceFile: (name) => (name === "page.js" ? file : undefined), getDefaultLibFileName: () => "lib.d.ts", writeFile() {}, getCurrentDirectory: () => "/",
    getCanonicalFileName: (name) => name, useCaseSensitiveFileNames: () => true, getNewLine: () => "\n", fileExists: (name) => name === "page.js", readFile: () => undefined,
  };
  const checker = ts.createProgram(["page.js"], { allowJs: true, noLib: true, noResolve: true, target: ts.ScriptTarget.ES2022 }, host).getTypeChecker();
  const { statements, imported } = body_of(file, checker);
  const numbers = new Map();
  const found = [];
  for (const it of statements) visit(it);
  return found;

  function variable(local, name) {
    const symbol = imported.get(local) ?? local;
    if (!symbol?.declarations?.some((it) => it.getSourceFile() === file)) return found.push(`outside ${name}`);
    if (!numbers.has(symbol)) numbers.set(symbol, numbers.size);
    return found.push(`variable ${numbers.get(symbol)}`);
  }

  function visit(node) {
    if (ts.isIdentifier(node)) variable(checker.getSymbolAtLocation(node), node.text);
    else if (ts.isPropertyAccessExpression(node)) {
      found.push(node.questionDotToken ? "?." : ".");
      visit(node.expression);
      found.push(`member ${node.name.text}`);
    } else if (ts.isShorthandPropertyAssignment(node)) {
      found.push(`member ${node.name.text}`);
      variable(checker.getShorthandAssignmentValueSymbol(node), node.name.text);
      if (node.objectAssignmentInitializer) visit(node.objectAssignmentInitializer);
    } else if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent) && !node.dotDotDotToken && ts.isIdentifier(node.propertyName ?? node.name)) {
      found.push(`member ${(node.propertyName ?? node.name).text}`);
      visit(node.name);
      if (node.initializer) visit(node.initializer);
    } else if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name)) {
      found.push(`member ${node.name.text}`);
      visit(node.initializer);
    } else if ((ts.isMethodDeclaration(node) || ts.isGetAccessor(node) || ts.isSetAccessor(node)) && ts.isIdentifier(node.name)) {
      found.push(`member ${node.name.text}`);
      ts.forEachChild(node, (child) => { if (child !== node.name) visit(child); });
    } else if (ts.isVariableStatement(node)) {
      ts.forEachChild(node, visit);
    } else if (ts.isVariableDeclarationList(node)) {
      // Declarations behind one another are written as one.
      for (const it of node.declarations) {
        found.push(String(node.flags & ts.NodeFlags.BlockScoped));
        visit(it);
      }
    } else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken && /^[01]$/.test(node.operand.getText())) {
      found.push(String(node.operand.getText() === "0" ? ts.SyntaxKind.TrueKeyword : ts.SyntaxKind.FalseKeyword));
    } else {
      const has_text = ts.isLiteralExpression(node) || ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
      found.push(has_text ? `${node.kind} ${node.rawText ?? node.text}` : String(node.kind));
      ts.forEachChild(node, visit);
    }
  }
}

/**
 * The statements of a script: those of the one function that the program links its modules into, or of the module by
 * module functions, `const $a = (() => { … })();`, of link.mjs. Those take what they import as members of others,
 * so that an imported variable means the one that the other module declares.
 */
function body_of(file, checker) {
  const statements = [];
  const imported = new Map();
  const exports = new Map();
  for (const it of file.statements) {
    const module = ts.isVariableStatement(it) ? it.declarationList.declarations[0] : null;
    const call = module ? module.initializer : it.expression;
    for (const inner of (ts.isCallExpression(call) ? call.expression.expression.body.statements : [])) {
      const taken = ts.isVariableStatement(inner) ? inner.declarationList.declarations[0] : null;
      if (module && ts.isReturnStatement(inner)) {
        exports.set(module.name.text, new Map(inner.expression.properties.map((own) => [own.name.text, checker.getShorthandAssignmentValueSymbol(own)])));
      } else if (module && taken && ts.isObjectBindingPattern(taken.name) && exports.has(taken.initializer?.getText())) {
        for (const own of taken.name.elements) imported.set(checker.getSymbolAtLocation(own.name), exports.get(taken.initializer.getText()).get((own.propertyName ?? own.name).text));
      } else {
        statements.push(inner);
      }
    }
  }
  return { statements, imported };
}
