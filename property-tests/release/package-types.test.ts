import { rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { THOROUGH } from '../cases.ts';
import { entries } from '../support/entry-sources.ts';
import { codeOf, pagesWith } from './guide-pages.ts';
import { compilerErrors, installIn, type Packed, pack } from './package-support.ts';

const COMPILERS = ['typescript-5.7', 'typescript-5.9', 'typescript'];
const names = entries().map(({ name }) => name.replace('.', 'quadrille'));
/** Entries whose types name those of RxJS, which ask for `setTimeout`: README names them. */
const OVER_RXJS = ['quadrille/graph', 'quadrille/algorithms/cross-compare'];
/** Arguments that stand for those of a call which are not tested. */
const ANY = 'any';

let packed: Packed;
let project: string;
beforeAll(async () => {
  packed = await pack();
  project = installIn(packed, ['fast-check', '@types/node', '@webgpu/types', ...COMPILERS]);
}, 300_000);
afterAll(() => rmSync(packed.folder, { recursive: true }));

/** Imports entries, the first as `e0` and so on, and uses them. */
const importing = (entries: readonly string[]): string =>
  [
    ...entries.map((name, i) => `import * as e${i} from '${name}';`),
    `export const all: readonly unknown[] = [${entries.map((_, i) => `e${i}`)}];`,
  ].join('\n');

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
  types: [],
  strict: true,
  noEmit: true,
};

/** The options of programs for Node, with WebGPU of their own. */
const PLATFORM: ts.CompilerOptions = {
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.esnext.disposable.d.ts'],
  types: ['node', '@webgpu/types'],
  skipLibCheck: true,
};

/** What the compiler says of a program. */
function saidOf(program: ts.Program): string[] {
  const errors = [...program.getSyntacticDiagnostics(), ...program.getSemanticDiagnostics()];
  return errors.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

/** A program of the project, as the compiler sees it. */
function programOf(text: string, options: ts.CompilerOptions = {}): { program: ts.Program; file: ts.SourceFile } {
  const path = join(project, 'program.ts');
  writeFileSync(path, text);
  const program = ts.createProgram([path], { ...OPTIONS, ...options });
  return { program, file: program.getSourceFile(path)! };
}

/** The exports of all entries, each once, with the expression that names it in `importing(names)`. */
function exportsOf({ program, file }: ReturnType<typeof programOf>): Map<ts.Symbol, string> {
  const checker = program.getTypeChecker();
  const found = new Map<ts.Symbol, string>();
  for (const i of names.keys()) {
    const { moduleSpecifier } = file.statements[i] as ts.ImportDeclaration;
    for (const each of checker.getExportsOfModule(checker.getSymbolAtLocation(moduleSpecifier)!)) {
      const symbol = each.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(each) : each;
      if (!found.has(symbol)) found.set(symbol, `e${i}.${each.name}`);
    }
  }
  return found;
}

describe('without DOM and @types/node', () => {
  const matrix = COMPILERS.flatMap((compiler) =>
    Object.entries({ nodenext: 'nodenext', bundler: 'esnext' }).map(([moduleResolution, module]) => ({
      ...{ compiler, moduleResolution, module },
    })),
  );
  const alone = {
    ...{ lib: ['es2022'], types: [], skipLibCheck: false, verbatimModuleSyntax: true },
    ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noPropertyAccessFromIndexSignature: true },
  };

  test.each(THOROUGH ? matrix : matrix.filter((_, i) => i % 3 === 0))(
    'all entries compile, but for a type that RxJS asks for: $compiler, $moduleResolution',
    async ({ compiler, ...options }) => {
      const without = names.filter((name) => !OVER_RXJS.includes(name));
      const errors = (entries: readonly string[]): Promise<string> =>
        compilerErrors(project, compiler, importing(entries), { ...alone, ...options });
      expect(await errors(without)).toBe('');
      expect(await errors(names)).toMatch(/^[^\n]*\/rxjs\/[^\n]* Cannot find name 'setTimeout'[^\n]*\n$/);
    },
  );

  test('README says so', () => {
    const readme = new TextDecoder().decode(packed.files.get('README.md'));
    for (const name of OVER_RXJS) expect(readme).toMatch(new RegExp(`neither DOM .*\`${name}\`.* RxJS`));
  });
});

describe('a typo in an option is reported at the option', () => {
  interface Typo {
    readonly line: string;
    readonly meant: string;
    readonly typo: string;
  }

  /** Options are records with an optional property. */
  function optionsOf(checker: ts.TypeChecker, type: ts.Type): ts.Symbol[] | undefined {
    const parts = type.isUnion() ? type.types : [type];
    return parts
      .filter(({ flags }) => flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))
      .filter((part) => part.getCallSignatures().length === 0 && !checker.isArrayType(part))
      .map((part) => checker.getPropertiesOfType(part))
      .find((properties) => properties.some(isOptional));
  }
  const isOptional = ({ flags }: ts.Symbol): boolean => (flags & ts.SymbolFlags.Optional) !== 0;

  /** For each option that a signature takes, a call in which its last letter is doubled. */
  function typosOf(checker: ts.TypeChecker, call: string, signature: ts.Signature, file: ts.SourceFile): Typo[] {
    return signature.parameters.flatMap((parameter, at) => {
      const options = optionsOf(checker, checker.getTypeOfSymbolAtLocation(parameter, file)) ?? [];
      const own = options.filter(({ name }) => /^\w{4,}$/.test(name) && !name.startsWith('__'));
      return own.map((option) => {
        const typo = option.name + option.name.at(-1);
        const required = options.filter((each) => each !== option && !isOptional(each)).map(({ name }) => name);
        const record = `{ ${[...required, typo].map((name) => `${name}: ${ANY}`).join(', ')} }`;
        const { minArgumentCount: least } = signature as ts.Signature & { readonly minArgumentCount: number };
        const args = Array.from({ length: Math.max(at + 1, least) }, (_, i) => (i === at ? record : ANY));
        return { line: `${call}(${args.join(', ')});`, meant: option.name, typo };
      });
    });
  }

  /** The typos of every call of the package. */
  function allTypos(): Typo[] {
    const compiled = programOf(importing(names));
    const { program, file } = compiled;
    const checker = program.getTypeChecker();
    const ofType = (call: string, type: ts.Type): Typo[] =>
      type.getCallSignatures().flatMap((signature) => typosOf(checker, call, signature, file));
    return [...exportsOf(compiled)].flatMap(([symbol, expression]) => {
      const isValue = symbol.flags & ts.SymbolFlags.Value;
      const value = isValue ? ofType(expression, checker.getTypeOfSymbolAtLocation(symbol, file)) : [];
      if (!(symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface))) return value;
      const type = checker.getDeclaredTypeOfSymbol(symbol) as ts.InterfaceType;
      const given = (type.typeParameters ?? []).map(() => ANY).join(', ');
      const made = `(null! as ${expression}${given && `<${given}>`})`;
      const methods = checker.getPropertiesOfType(type).filter(({ name }) => /^[a-z]\w*$/.test(name));
      return [
        ...value,
        ...methods.flatMap((each) => ofType(`${made}.${each.name}`, checker.getTypeOfSymbolAtLocation(each, file))),
      ];
    });
  }

  /** What the compiler says of each line of a program, behind lines that are right. */
  function errorsOf(head: string, lines: readonly string[]): { readonly at: string; readonly message: string }[][] {
    const { program, file } = programOf(`${head}\n${lines.join('\n')}\n`);
    const first = head.split('\n').length;
    const said = lines.map((): { at: string; message: string }[] => []);
    for (const { start = 0, length = 0, messageText } of program.getSemanticDiagnostics(file)) {
      const at = file.text.slice(start, start + length);
      const { line } = file.getLineAndCharacterOfPosition(start);
      expect(line).toBeGreaterThanOrEqual(first);
      said[line - first]!.push({ at, message: ts.flattenDiagnosticMessageText(messageText, '\n') });
    }
    return said;
  }

  test('in every call of the package', () => {
    // Commands are a union of records: which kind was meant, only their `kind` says.
    const typos = allTypos().filter(({ line }) => !/Backend\)\.run\(/.test(line));
    expect(typos.length).toBeGreaterThan(600);
    const said = errorsOf(
      `${importing(names)}\ndeclare const ${ANY}: any;`,
      typos.map(({ line }) => line),
    );
    const wrong = typos.filter(({ meant, typo }, i) => {
      const [error, ...others] = said[i]!;
      const isRight = error?.at === typo && error.message.includes(`Did you mean to write '${meant}'?`);
      return !isRight || others.length > 0;
    });
    expect(wrong.map(({ line }) => line)).toEqual([]);
  });

  test('also where the types of other arguments decide what a call returns', () => {
    const head = [
      "import { array, expand, f32, fn, input, neighbours, open, sort, stencil, u32, wgsl } from 'quadrille';",
      "import { buildMaqTree } from 'quadrille/algorithms/maq-tree';",
      "import { decompose, type DomainPolygons, type Quadrants } from 'quadrille/algorithms/quadrants';",
      "const context = await open({ backend: 'workers' });",
      'const [xs, fs] = [context.column(new Uint32Array(3)), context.column(new Float32Array(3))];',
      "const blur = fn('blur', { x: neighbours(f32) }, f32, ({ x }) => x.at(-1));",
      "const rank = fn('rank', { n: u32, rank: u32 }, u32, ({ n, rank }) => n.add(rank));",
      'declare const [polygons, quadrants, gpuBuffer]: [DomainPolygons, Quadrants, any];',
    ].join('\n');
    const typos = {
      "open({ backendd: 'workers' });": 'backend',
      "fn('half', { n: u32 }, u32, ({ n }) => n.shr(1), { fastt: true });": 'fast',
      "wgsl('fn f(a: u32) -> u32 { return a; }', { entryy: 'f' });": 'entry',
      'context.read(xs, { intoo: new Uint32Array(3) });': 'into',
      'context.upload(new Uint32Array(3), { signall: gpuBuffer });': 'signal',
      "context.upload({ type: 'f32', length: 3, fill: (into) => void into.fill(1) }, { onProgresss: () => {} });":
        'onProgress',
      "context.borrow(gpuBuffer, { type: 'f32', offsett: 3 });": 'offset',
      "stencil(blur, { x: fs }, { boundaryy: 'clamp' });": 'boundary',
      'sort(xs, { descendingg: true });': 'descending',
      'expand({ n: xs }, xs, rank, { capacityy: 9 });': 'capacity',
      'expand({ n: xs }, xs, rank, { capacity: 9, capturess: {} });': 'captures',
      'decompose(context, polygons, { levels: 3, keepsEdgess: true });': 'keepsEdges',
      'buildMaqTree(context, [quadrants], { freess: true });': 'frees',
      "input(u32, 10, { storagee: 'u8' });": 'storage',
    };
    const said = errorsOf(head, Object.keys(typos));
    const expected = Object.values(typos).map((meant) => [
      { at: meant + meant.at(-1), message: expect.stringContaining(`Did you mean to write '${meant}'?`) },
    ]);
    expect(said).toEqual(expected);
  });

  test('and what a functor returns is reported in its body, not at its name', () => {
    const lines = {
      "fn('half', { n: u32 }, u32, ({ n }) => n.gt(3));": 'n.gt(3)',
      "fn('half', { n: u32 }, { a: u32 }, ({ n }) => ({ b: n }));": '({ b: n })',
      "fn('half', { n: u32 }, u32, ({ n }) => (n === 2 ? 1 : n));": 'n === 2',
    };
    const said = errorsOf("import { fn, u32 } from 'quadrille';", Object.keys(lines));
    expect(said.map((errors) => errors.map(({ at }) => at))).toEqual(Object.values(lines).map((at) => [at]));
  });
});

describe('the types have what users may call, and nothing else', () => {
  test('nothing is internal, or private by an underscore', () => {
    const declared = [...packed.files].filter(([path]) => path.endsWith('.d.ts'));
    expect(declared.length).toBeGreaterThan(300);
    const withInternal = declared.filter(([, bytes]) => new TextDecoder().decode(bytes).includes('@internal'));
    expect(withInternal.map(([path]) => path)).toEqual([]);
    const compiled = programOf(importing(names));
    const checker = compiled.program.getTypeChecker();
    const members = [...exportsOf(compiled)].flatMap(([symbol, expression]) =>
      symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface)
        ? checker
            .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
            .map(({ name }) => `${expression}.${name}`)
        : [],
    );
    expect(members.length).toBeGreaterThan(700);
    // Two underscores begin the compiler's names of symbols and of private fields.
    expect(members.filter((member) => /\._(?!_)/.test(member))).toEqual([]);
  });

  /** What an editor offers after the point. A new member of these is a decision, so it is written here. */
  const MEMBERS = {
    Column: 'capacity context grid length type',
    DeviceLength: 'limit',
    Context:
      'abort adopt backend borrow close column column64 count dispose iterate lend lendArray materialize prepare ' +
      'read read64 scope submit sync upload',
    ColumnOwner: 'backend column count dispose materialize read scope sync',
    Value: 'abs add and div eq ge gt le lt max min mul ne neg not or rem scalar shl shr sub xor',
    ArrayValue: 'at length type',
    OwnedValue: 'at length set type',
    Records: 'at length shape',
    Neighbours: 'at shape x y',
    Backend:
      'abort allocate close counters determinism forgetScript isLost lendWords limits name play prepareScript read ' +
      'release run scriptBytes shared submit sync upload walkRows write',
  };

  test.each(Object.entries(MEMBERS))('%s', (name, expected) => {
    const { program, file } = programOf(importing(['quadrille']));
    const checker = program.getTypeChecker();
    const { moduleSpecifier } = file.statements[0] as ts.ImportDeclaration;
    const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(moduleSpecifier)!);
    const found = exported.find((each) => each.name === name)!;
    const symbol = found.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found;
    const properties = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol));
    const members = properties.map((each) => each.name).filter((each) => /^[a-z]/.test(each));
    expect(members.sort().join(' ')).toBe(expected);
  });

  test('and what the examples need, backends of their own included', () => {
    const examples = [...packed.files].filter(([path]) => /^examples\/[^/]+\.ts$/.test(path));
    expect(examples.map(([path]) => path)).toContain('examples/check-a-backend.ts');
    const paths = examples.map(([path, bytes]) => {
      const copy = join(project, basename(path));
      writeFileSync(copy, bytes);
      return copy;
    });
    expect(saidOf(ts.createProgram(paths, { ...OPTIONS, ...PLATFORM }))).toEqual([]);
  });
});

describe('the code of README and guides is strict TypeScript, as pasted', () => {
  test.each(pagesWith('ts'))('%s', (page) => {
    expect(saidOf(programOf(`${codeOf(page)}\nexport {};\n`, PLATFORM).program)).toEqual([]);
  });
});
