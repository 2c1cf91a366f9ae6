// The page that the program carries has other names than its modules, and is the same otherwise: both are parsed
// by TypeScript, whose checker says which variable each name means.
import test from "node:test";
import assert from "node:assert/strict";
import ts from "typescript";
import { link } from "../link.mjs";
import { shipped } from "../shipped.mjs";

const skip = process.env.OPSCOPE ? false : "no program: name one in OPSCOPE";

test("short names mean the variables that the modules' own names mean", { skip }, () => {
  const [own, short] = [meanings(link()), meanings(shipped().script)];
  const at = own.findIndex((it, place) => it !== short[place]);
  const context = (all) => all.slice(Math.max(0, at - 6), at + 4).join(" ");
  assert.ok(at < 0 && own.length === short.length, `${context(own)}\nbecame\n${context(short)}`);
  assert.ok(own.filter((it) => it.startsWith("variable")).length > 10_000);
});

test("a name that is taken for another is found", () => {
  const of = (text) => meanings(`const $a = (() => { ${text} return { }; })();`);
  assert.deepEqual(of("const one = 1; const f = ({ two }) => one + two;"), of("const b = 1; const a = ({ two: c }) => b + c;"));
  for (const wrong of ["const b = 1; const a = ({ two: b }) => b + b;", "const b = 1; const a = ({ c }) => b + c;", "const b = 1; const a = ({ two: c }) => b + d;"]) {
    assert.notDeepEqual(of("const one = 1; const f = ({ two }) => one + two;"), of(wrong), wrong);
  }
});

/** The parts of a script, its variables by the order in which they appear. @param {string} text @returns {string[]} */
function meanings(text) {
  const file = ts.createSourceFile("page.js", text, ts.ScriptTarget.ES2022, true, ts.ScriptKind.JS);
  const host = {
    getSourceFile: (name) => (name === "page.js" ? file : undefined), getDefaultLibFileName: () => "lib.d.ts", writeFile() {}, getCurrentDirectory: () => "/",
    getCanonicalFileName: (name) => name, useCaseSensitiveFileNames: () => true, getNewLine: () => "\n", fileExists: (name) => name === "page.js", readFile: () => undefined,
  };
  const checker = ts.createProgram(["page.js"], { allowJs: true, noLib: true, noResolve: true, target: ts.ScriptTarget.ES2022 }, host).getTypeChecker();
  const handed = new Set(file.statements.filter(ts.isVariableStatement).flatMap((it) => exchanged(it)));
  const numbers = new Map();
  const found = [];
  visit(file);
  return found;

  function variable(symbol, name) {
    if (!symbol?.declarations?.some((it) => it.getSourceFile() === file)) return found.push(`outside ${name}`);
    if (!numbers.has(symbol)) numbers.set(symbol, numbers.size);
    return found.push(`variable ${numbers.get(symbol)}`);
  }

  // Modules hand their exports to one another by names that the linker chooses.
  function member(object, name) {
    found.push(handed.has(object) ? "handed" : `member ${name}`);
  }

  function visit(node) {
    if (ts.isIdentifier(node)) variable(checker.getSymbolAtLocation(node), node.text);
    else if (ts.isPropertyAccessExpression(node)) {
      found.push(node.questionDotToken ? "?." : ".");
      visit(node.expression);
      found.push(`member ${node.name.text}`);
    } else if (ts.isShorthandPropertyAssignment(node)) {
      member(node.parent, node.name.text);
      variable(checker.getShorthandAssignmentValueSymbol(node), node.name.text);
      if (node.objectAssignmentInitializer) visit(node.objectAssignmentInitializer);
    } else if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent) && !node.dotDotDotToken && ts.isIdentifier(node.propertyName ?? node.name)) {
      member(node.parent, (node.propertyName ?? node.name).text);
      visit(node.name);
      if (node.initializer) visit(node.initializer);
    } else if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name)) {
      member(node.parent, node.name.text);
      visit(node.initializer);
    } else if ((ts.isMethodDeclaration(node) || ts.isGetAccessor(node) || ts.isSetAccessor(node)) && ts.isIdentifier(node.name)) {
      found.push(`member ${node.name.text}`);
      ts.forEachChild(node, (child) => { if (child !== node.name) visit(child); });
    } else {
      const has_text = ts.isLiteralExpression(node) || ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
      found.push(has_text ? `${node.kind} ${node.rawText ?? node.text}` : String(node.kind));
      ts.forEachChild(node, visit);
    }
  }
}

/** The objects by which a module, `const $a = (() => { … })();`, takes what others hand it and hands out its own. */
function exchanged(statement) {
  const module = statement.declarationList.declarations[0].initializer?.expression?.expression?.body?.statements ?? [];
  return module.map((it) => {
    if (ts.isReturnStatement(it)) return it.expression;
    const declaration = ts.isVariableStatement(it) ? it.declarationList.declarations[0] : null;
    return declaration?.initializer?.getText().startsWith("$") ? declaration.name : null;
  });
}
