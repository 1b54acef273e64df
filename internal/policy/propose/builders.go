package propose

// maven runs phases; which plugins do the work is the project's to say.
func maven(w *writer, t tool) {
	w.begin(t)
	w.allow("[]", "flags: {-q: none, -B: none, -o: none, -pl: \"<re:[A-Za-z0-9_.,:-]+>\", -am: none, -DskipTests: none}",
		"rest: "+text("{clean,validate,compile,test-compile,test,package,verify}..."))
	if w.offline() {
		w.line("    environment:")
		w.line("      set:")
		w.line("        MAVEN_ARGS: %s  # there is no network: when pom.xml changes, run `mvn dependency:go-offline` yourself", text(mavenArgs(w)))
	}
	w.passes("mvn", "-q", "test")
	w.refuses("mvn", "exec:exec", "-Dexec.executable=sh")
	w.refuses("mvn", "-f", "other.xml", "test")
}

// mavenArgs has Maven use what was fetched before, since HOME is another.
func mavenArgs(w *writer) string {
	args := "-o"
	if dir := w.project.MavenRepository; writable(dir) && dir != "/" {
		args += " -Dmaven.repo.local=" + dir
		w.read(dir, "what Maven fetched; MAVEN_ARGS above")
	}
	return args
}

func gradle(w *writer, t tool) {
	w.begin(t)
	w.allow("[]", "flags: {--offline: none, --no-daemon: none, -q: none, --tests: \"<re:[A-Za-z0-9_.*]+>\"}",
		"rest: "+text("{assemble,build,check,classes,clean,compileJava,test,testClasses}..."))
	w.passes("gradle", "--no-daemon", "test")
	w.refuses("gradle", "--init-script", "x.gradle", "test")
	w.refuses("gradle", "-Dorg.gradle.jvmargs=-agentpath:x", "test")
}

func cmakeTool(w *writer, t tool) {
	w.begin(t)
	w.allow("[-S, ., -B, build]")
	w.allow("[--build, build]", "flags: {-j: <int>, --parallel: <int>, --target: \"<re:[A-Za-z0-9_.]+>\", -v: none}")
	w.passes("cmake", "-S", ".", "-B", "build")
	w.passes("cmake", "--build", "build", "-j", "4")
	w.refuses("cmake", "-P", "script.cmake")
	w.refuses("cmake", "-E", "env", "sh")
}

func ctest(w *writer, t tool) {
	w.begin(t)
	w.allow("[--test-dir, build]", "flags: {--output-on-failure: none, -j: <int>, -R: <word>, -V: none}")
	w.passes("ctest", "--test-dir", "build", "--output-on-failure")
	w.refuses("ctest", "-S", "script.cmake")
}

func ninja(w *writer, t tool) {
	w.begin(t)
	w.allow("[]", "flags: {-j: <int>, -v: none, -k: <int>}", `rest: "<re:[A-Za-z0-9_.]+>..."`)
	w.passes("ninja", "-j", "2")
	w.refuses("ninja", "-f", "other.ninja")
}

func mypy(w *writer, t tool) {
	w.begin(t)
	w.allow("[]", "flags: {--strict: none, --no-incremental: none}", "rest: <path>...")
	w.passes("mypy", "--strict", "src")
	w.refuses("mypy", "--config-file=x.ini")
}
