# One target for each frame, and one that is old: make says which frames are newer than it.
frames := $(sort $(wildcard f1*))
all: $(frames:%=%.sum) f03
.PHONY: $(frames:%=%.sum)
$(frames:%=%.sum): %.sum: %
	cksum $<
f03: $(frames) notes.txt
	@echo newer than $@: $?
